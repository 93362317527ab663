//! Prints results in human-readable form.

use std::env;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write as _};

use serde_json::Value;

/// Prints a line. Errors are ignored because they mean that the output is no longer being read.
pub(super) fn line(text: &str) {
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
    let _ = writeln!(io::stderr().lock(), "{prefix} {text}");
}

/// Prints a note to standard error.
pub(super) fn note(text: &str) {
    let prefix = styled("note:", Style::Name, &io::stderr());
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
    let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    // Older Windows terminals print the codes literally.
    let knows_codes = match env::var_os("TERM") {
        Some(name) => name != "dumb",
        None => cfg!(unix) || is_set("WT_SESSION"),
    };
    if !knows_codes || is_set("NO_COLOR") || !stream.is_terminal() {
        return text.to_string();
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

/// Returns the text with control characters escaped. This is used for text from other sources, because a terminal would
/// interpret the characters.
pub(super) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Returns the first line of the text.
pub(super) fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(
            visible("/bin/水\u{1b}[2J\u{9b}"),
            "/bin/水\\u{1b}[2J\\u{9b}"
        );
    }
}
