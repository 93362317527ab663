//! Prints results in human-readable form.

use std::borrow::Cow;
use std::env;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write as _};

use serde_json::Value;

/// Prints a line, which may hold text from anywhere.
pub(super) fn line(text: &str) {
    styled_line(&shown(text, &io::stdout()));
}

/// Prints a line with [`styled`] parts. All other parts are text of this program, or [`shown`]. Errors are ignored because
/// they mean that the output is no longer being read.
pub(super) fn styled_line(text: &str) {
    let mut stdout = io::stdout().lock();
    let _ = writeln!(stdout, "{}", text.trim_end_matches('\n'));
}

/// Prints JSON for other programs to read.
pub(super) fn json(value: &Value) {
    line(&format!("{value:#}"));
}

/// Prints an error to standard error.
pub(super) fn error(text: &str) {
    let prefix = styled("error:", Style::Problem, &io::stderr());
    let text = shown(text, &io::stderr());
    let _ = writeln!(io::stderr().lock(), "{prefix} {text}");
}

/// Prints a note to standard error.
pub(super) fn note(text: &str) {
    let prefix = styled("note:", Style::Name, &io::stderr());
    let text = shown(text, &io::stderr());
    let _ = writeln!(io::stderr().lock(), "{prefix} {text}");
}

/// The style for a part of the human-readable output.
#[derive(Clone, Copy)]
pub(super) enum Style {
    Name,
    Aside,
    Problem,
}

/// Returns text for this stream, in color if the stream is a terminal and the user has not requested plain output
/// (`NO_COLOR`, no-color.org).
pub(super) fn styled(text: impl Display, style: Style, stream: &impl IsTerminal) -> String {
    let text = text.to_string();
    let text = shown(&text, stream);
    let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    // Older Windows terminals print the codes literally.
    let knows_codes = match env::var_os("TERM") {
        Some(name) => name != "dumb",
        None => cfg!(unix) || is_set("WT_SESSION"),
    };
    if !knows_codes || is_set("NO_COLOR") || !stream.is_terminal() {
        return text.into_owned();
    }
    let code = match style {
        Style::Name => "1",
        Style::Aside => "2",
        Style::Problem => "1;31",
    };
    format!("\x1b[{code}m{text}\x1b[0m")
}

/// Formats a content block or a resource's contents.
pub(super) fn content(block: &Value) -> String {
    let text = |name: &str| block[name].as_str();
    let bytes = |data: &str| data.trim_end_matches('=').len().saturating_mul(3) / 4;
    match text("type") {
        Some("resource") => content(&block["resource"]),
        Some("resource_link") => format!(
            "{} ({})",
            text("uri").unwrap_or_default(),
            text("title").or(text("name")).unwrap_or_default()
        ),
        _ => match (text("text"), text("data").or(text("blob"))) {
            (Some(text), _) => text.to_owned(),
            (None, Some(data)) => format!(
                "[{}, {} bytes]",
                text("mimeType").unwrap_or("application/octet-stream"),
                bytes(data)
            ),
            (None, None) => block.to_string(),
        },
    }
}

/// Returns text as it is printed to this stream. Programs that read the output get the text itself.
pub(super) fn shown<'t>(text: &'t str, stream: &impl IsTerminal) -> Cow<'t, str> {
    if stream.is_terminal() {
        for_terminal(text)
    } else {
        Cow::Borrowed(text)
    }
}

/// Escapes control characters except tabs and line ends, because a terminal would obey them.
fn for_terminal(text: &str) -> Cow<'_, str> {
    escape(text, |c| c.is_control() && c != '\t' && c != '\n')
}

/// Returns a name or another short text from anywhere on one line, wherever it is printed: without control characters and
/// without characters that change the direction of what follows.
pub(super) fn visible(text: &str) -> String {
    let is_hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    escape(text, is_hidden).into_owned()
}

fn escape(text: &str, is_hidden: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    // The first half of a Windows line end shows nothing.
    for c in text.replace("\r\n", "\n").chars() {
        if is_hidden(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// Returns the first line of the text.
pub(super) fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_show_no_control_characters_and_no_changes_of_direction() {
        assert_eq!(
            visible("/bin/水\u{1b}[2J\u{9b}\n"),
            "/bin/水\\u{1b}[2J\\u{9b}\\n"
        );
        assert_eq!(visible("a\u{202e}b\u{2066}c"), "a\\u{202e}b\\u{2066}c");
    }

    #[test]
    fn a_terminal_does_not_get_control_characters() {
        for (text, on_terminal) in [
            (
                "\u{1b}]0;title\u{7}\u{1b}[2J",
                "\\u{1b}]0;title\\u{7}\\u{1b}[2J",
            ),
            ("a\tb\r\nc\rd\u{9b}2J", "a\tb\nc\\rd\\u{9b}2J"),
            ("שלום\u{200f} 水\n", "שלום\u{200f} 水\n"),
        ] {
            assert_eq!(for_terminal(text), on_terminal);
        }
    }
}
