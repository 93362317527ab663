//! Reads lines from a process, up to a maximum length, and writes to standard output.

use std::fmt::Write as _;
use std::io::Write as _;

use anyhow::{Context as _, Result};
use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

/// Maximum length of a message.
pub(crate) const MAX_MESSAGE: usize = 32 << 20;

/// Reads a line of at most `max` bytes. Returns `None` at the end of the stream, and `false` if the line was too long
/// and the rest of it was skipped.
pub(crate) async fn read_line(
    reader: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
    max: usize,
) -> std::io::Result<Option<bool>> {
    line.clear();
    line.shrink_to(1 << 20);
    let limit = u64::try_from(max).unwrap_or(u64::MAX);
    if (&mut *reader).take(limit).read_until(b'\n', line).await? == 0 {
        return Ok(None);
    }
    if line.len() < max || line.ends_with(b"\n") {
        return Ok(Some(true));
    }
    loop {
        let rest = reader.fill_buf().await?;
        let newline = rest.iter().position(|byte| *byte == b'\n');
        let (skipped, end) = (newline.map_or(rest.len(), |at| at + 1), rest.is_empty());
        reader.consume(skipped);
        if end || newline.is_some() {
            return Ok(Some(false));
        }
    }
}

/// Writes to standard output, which may be closed.
pub(crate) fn say(text: &str) -> Result<()> {
    let mut out = std::io::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(error).context("cannot write to standard output")
        }
        _ => Ok(()),
    }
}

/// Writes text of a server, or about it, to standard output.
pub(crate) fn say_text(text: &str) -> Result<()> {
    say(&format!("{}\n", printable(text.trim_end())))
}

/// Writes JSON for other programs to standard output.
pub(crate) fn say_json(value: &Value) -> Result<()> {
    let mut text = String::new();
    // In JSON, only strings contain these characters.
    for c in format!("{value:#}").chars() {
        if is_hidden(c) {
            let _ = write!(text, "\\u{:04x}", u32::from(c));
        } else {
            text.push(c);
        }
    }
    say(&(text + "\n"))
}

/// Writes a note to standard error.
pub(crate) fn note(text: &str) {
    eprintln!("note: {}", printable(text));
}

/// Escapes what a terminal would obey, and what changes the direction of the text that follows. Nobody can know what is
/// in the text of a server.
pub(crate) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

fn is_hidden(c: char) -> bool {
    c.is_control() && c != '\n' && c != '\t'
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use tokio::io::BufReader;

    use super::*;

    #[tokio::test]
    async fn a_line_that_is_too_long_is_skipped() {
        let mut reader = BufReader::with_capacity(4, &b"12345678901234\nabc\nrest"[..]);
        let mut line = Vec::new();
        assert_eq!(
            read_line(&mut reader, &mut line, 10).await.unwrap(),
            Some(false)
        );
        assert_eq!(line, b"1234567890");
        assert_eq!(
            read_line(&mut reader, &mut line, 10).await.unwrap(),
            Some(true)
        );
        assert_eq!(line, b"abc\n");
        assert_eq!(
            read_line(&mut reader, &mut line, 10).await.unwrap(),
            Some(true)
        );
        assert_eq!(line, b"rest");
        assert_eq!(read_line(&mut reader, &mut line, 10).await.unwrap(), None);
    }
}
