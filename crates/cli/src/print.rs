//! Prints results in human-readable form.

use std::borrow::Cow;
use std::fmt::{Display, Write as _};
use std::io::{IsTerminal, Write as _};
use std::{env, io};

use mcp_core::context::Progress;
use serde_json::{Map, Value};

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

// Formats a call's progress as a single line for the terminal.

/// Maximum width of a progress bar, in characters.
const MAX_BAR: usize = 24;

/// Returns the number of columns of the terminal that is connected to standard error.
pub(super) fn terminal_width() -> usize {
    /// The assumed width of terminals that do not report their width.
    const DEFAULT_TERMINAL_WIDTH: usize = 80;
    #[cfg(unix)]
    if let Ok(size) = rustix::termios::tcgetwinsize(rustix::stdio::stderr())
        && size.ws_col > 0
    {
        return size.ws_col.into();
    }
    DEFAULT_TERMINAL_WIDTH
}

/// Formats progress for a terminal with this many columns, as in `[########----] 2/3 copying`.
pub(super) fn bar(progress: &Progress, width: usize) -> String {
    let most = MAX_BAR.min(width / 3);
    let Progress {
        progress: done,
        total,
        message,
        ..
    } = progress;
    let mut text = String::new();
    if let Some(total) = total.filter(|total| *total > 0.0) {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "the bar is only a few characters wide"
        )]
        let filled = ((done / total).clamp(0.0, 1.0) * most as f64) as usize;
        let open = most.saturating_sub(filled);
        let _ = write!(
            text,
            "[{}{}] {done}/{total}",
            "#".repeat(filled),
            "-".repeat(open)
        );
    } else {
        let _ = write!(text, "{done}");
    }
    if let Some(message) = message {
        let _ = write!(text, " {message}");
    }
    single_line(&text, width)
}

/// Removes control characters and truncates a text to a line of the terminal.
pub(super) fn single_line(text: &str, width: usize) -> String {
    // The line is truncated because a line that wraps cannot be cleared. Wide characters occupy two columns.
    let mut left = width.saturating_sub(1);
    let fits = |c: &char| {
        let columns = if *c < '\u{1100}' { 1 } else { 2 };
        left.checked_sub(columns).map(|rest| left = rest).is_some()
    };
    text.chars()
        .filter(|c| !c.is_control())
        .take_while(fits)
        .collect()
}

// --- Formats a list of records as a human-readable table.

/// The space between two columns of a table.
const GAP: &str = "  ";

/// Formats a tool's result as a table if it is a list of flat records, or an object that contains only such a list, and
/// if the table fits into this many columns. `styled` applies the style to names.
pub(super) fn table(
    result: &Value,
    width: usize,
    styled: impl Fn(&str, Style) -> String,
) -> Option<String> {
    let records = records(result)?;
    let mut names: Vec<&str> = Vec::new();
    for name in records.iter().flat_map(|record| record.keys()) {
        if !names.contains(&name.as_str()) {
            // A table needs a gap for each column, so columns that would not fit are not even collected.
            if name.contains(char::is_control) || names.len() * GAP.len() > width {
                return None;
            }
            names.push(name);
        }
    }
    let mut columns = Vec::new();
    for &name in &names {
        let values = records.iter().map(|record| record.get(name));
        let cells: Option<Vec<_>> = values.map(cell).collect();
        let cells = cells?;
        let widths = cells.iter().map(|cell| columns_of(cell));
        let width = widths.chain([columns_of(name)]).max().unwrap_or_default();
        let is_number = records
            .iter()
            .all(|record| record.get(name).is_none_or(Value::is_number));
        columns.push((name, cells, width, is_number));
    }
    let total: usize = columns
        .iter()
        .map(|(_, _, width, _)| width + GAP.len())
        .sum();
    if columns.is_empty() || total > width + GAP.len() {
        return None;
    }
    let padded = |text: &str, shown: String, width: usize, is_number: bool| {
        let space = " ".repeat(width.saturating_sub(columns_of(text)));
        if is_number {
            space + &shown
        } else {
            shown + &space
        }
    };
    let line = |cells: Vec<String>| cells.join(GAP).trim_end().to_owned();
    let header = columns.iter().map(|(name, _, width, is_number)| {
        padded(name, styled(name, Style::Name), *width, *is_number)
    });
    let mut lines = vec![line(header.collect())];
    for index in 0..records.len() {
        let cells = columns.iter().filter_map(|(_, cells, width, is_number)| {
            let cell = cells.get(index)?;
            Some(padded(cell, cell.clone(), *width, *is_number))
        });
        lines.push(line(cells.collect()));
    }
    Some(lines.join("\n"))
}

/// Returns a list's records if the list is not empty and contains only records.
fn records(result: &Value) -> Option<Vec<&Map<String, Value>>> {
    let list = match result {
        Value::Array(list) => list,
        Value::Object(members) if members.len() == 1 => members.values().next()?.as_array()?,
        _ => return None,
    };
    let records: Option<Vec<_>> = list.iter().map(Value::as_object).collect();
    records.filter(|records| !records.is_empty())
}

/// Returns a value's text if it fits on a single line of a table.
fn cell(value: Option<&Value>) -> Option<String> {
    match value {
        None | Some(Value::Null) => Some(String::new()),
        Some(Value::String(text)) => (!text.contains(char::is_control)).then(|| text.clone()),
        Some(Value::Array(_) | Value::Object(_)) => None,
        Some(value) => Some(value.to_string()),
    }
}

/// Returns the number of columns that the text occupies. Wide characters occupy two columns.
fn columns_of(text: &str) -> usize {
    text.chars()
        .map(|c| if c < '\u{1100}' { 1 } else { 2 })
        .sum()
}

#[cfg(test)]
mod tests {
    mod print {
        use crate::print::*;

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

    mod rows {
        use serde_json::json;

        use crate::print::*;

        #[test]
        fn records_become_a_table() {
            let rows = json!([
                {"name": "basil", "litres": 1.5, "dry": true},
                {"name": "水仙", "litres": 10, "note": "in a pot"},
            ]);
            let expected =
                "name   litres  dry   note\nbasil     1.5  true\n水仙       10        in a pot";
            let plain = |text: &str, _| text.to_owned();
            assert_eq!(table(&rows, 29, plain).as_deref(), Some(expected));
            assert_eq!(
                table(&json!({"plants": rows}), 80, plain).as_deref(),
                Some(expected)
            );
            assert_eq!(table(&rows, 28, plain), None);
            let bold = table(&json!([{"a": "bc"}]), 80, |text, _| format!("<{text}>"));
            assert_eq!(bold.as_deref(), Some("<a>\nbc"));
        }

        #[test]
        fn results_that_are_not_lists_of_flat_objects_are_not_tables() {
            for result in [
                json!([]),
                json!([{}]),
                json!([1]),
                json!({"a": 1}),
                json!({"a": [{"b": 1}], "c": 1}),
                json!([{"a": [1]}]),
                json!([{"a": "b\nc"}]),
                json!([{"a": "\u{1b}[2J"}]),
                json!([{"\u{1b}[2J": 1}]),
                Value::Null,
            ] {
                assert_eq!(
                    table(&result, 80, |text, _| text.to_owned()),
                    None,
                    "{result}"
                );
            }
        }
    }
}

#[cfg(test)]
mod progress_bar_tests {
    use crate::print::*;

    #[test]
    fn a_progress_bar_shows_the_fraction_within_the_width() {
        for (progress, expected) in [
            (Progress::from(3), "3"),
            (Progress::from((1, 2)), "[############------------] 1/2"),
            (
                Progress::from((9, 3, "a\nb")),
                "[########################] 9/3 ab",
            ),
        ] {
            assert_eq!(bar(&progress, 80), expected);
        }
        let long = Progress::from((1, 2, "x".repeat(500)));
        for width in [0, 1, 20, 40, 80, 200] {
            assert_eq!(bar(&long, width).len(), width.saturating_sub(1), "{width}");
        }
        assert!(bar(&long, 40).starts_with("[######-------] 1/2 x"));
        let wide = Progress::from((1, 2, "\u{6c34}".repeat(500)));
        assert_eq!(bar(&wide, 40).matches('\u{6c34}').count(), 9);
    }
}
