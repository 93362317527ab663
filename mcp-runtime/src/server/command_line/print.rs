//! Prints results in human-readable form.

use std::io::{self, Write as _};

use serde_json::Value;

/// Prints a line. Errors are ignored because they mean that the reader has gone away.
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
    let _ = writeln!(io::stderr().lock(), "error: {text}");
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

/// Returns the first line of the text.
pub(super) fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
