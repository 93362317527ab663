//! Prompts the user for input and reads it from the terminal.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, OnceLock};
use std::thread;

use mcp_schema::explain::kind;
use mcp_schema::text::read_text;
use serde_json::Value;

use crate::lock::lock;
use crate::server::command_line::print::shown;

/// Prompts for one field until the input is valid. Returns `None` at the end of the input.
pub(super) fn ask(name: &str, field: &Value, required: bool) -> Result<Option<Value>, String> {
    let about = field["description"].as_str().or(field["title"].as_str());
    let default = &field["default"];
    loop {
        let mut text = format!("  {}", about.unwrap_or(name));
        let _ = write!(text, " ({}", kind(field));
        if !default.is_null() {
            let _ = write!(text, ", default {default}");
        } else if !required {
            text.push_str(", optional");
        }
        say(&format!("{text}): "));
        let Some(typed_text) = read_line()? else {
            return Ok(None);
        };
        if typed_text.is_empty() && (!required || !default.is_null()) {
            return Ok(Some(default.clone()));
        }
        let value = read_text(field, &typed_text);
        if fits(field, &value) {
            return Ok(Some(value));
        }
        say(&format!("  invalid; expected {}\n", kind(field)));
    }
}

/// Returns `true` if a value passes a few simple checks for its field. Full validation is left to the server.
fn fits(field: &Value, value: &Value) -> bool {
    let is_among = |choices: &Value| {
        let mut choices = choices.as_array().into_iter().flatten();
        choices.any(|choice| choice == value || choice["const"] == *value)
    };
    match field["type"].as_str() {
        Some("boolean") => value.is_boolean(),
        Some("integer" | "number") => value.as_f64().is_some_and(|number| {
            let least = field["minimum"].as_f64().unwrap_or(f64::NEG_INFINITY);
            let most = field["maximum"].as_f64().unwrap_or(f64::INFINITY);
            (least..=most).contains(&number)
        }),
        Some("array") => value.is_array(),
        _ if field["enum"].is_array() => is_among(&field["enum"]),
        _ if field["oneOf"].is_array() => is_among(&field["oneOf"]),
        _ => true,
    }
}

/// Reads one line from standard input. Returns `None` at the end of the input or if the user has given up.
pub(super) fn read_line() -> Result<Option<String>, String> {
    let lines = Lines::get();
    let received = lock(&lines.received);
    // If an earlier question was abandoned, the line that it requested becomes the next line.
    if !lines.is_reading.swap(true, Ordering::SeqCst) {
        // The thread runs for the lifetime of the program.
        let _ = lines.wanted.send(());
    }
    lines.is_waiting.store(true, Ordering::SeqCst);
    let line = received.recv();
    lines.is_waiting.store(false, Ordering::SeqCst);
    match line {
        Ok(Line::Read(line)) => {
            lines.is_reading.store(false, Ordering::SeqCst);
            match line {
                Ok(text) if text.is_empty() => Ok(None),
                Ok(text) => Ok(Some(text.trim().to_owned())),
                Err(error) => Err(format!("cannot read standard input: {error}")),
            }
        }
        Ok(Line::GivenUp) | Err(_) => Ok(None),
    }
}

/// Lets the question that is waiting for a line continue without one.
pub(super) fn give_up() {
    let lines = Lines::get();
    if lines.is_waiting.swap(false, Ordering::SeqCst) {
        let _ = lines.sender.send(Line::GivenUp);
    }
}

/// The lines of standard input. A thread reads each line on request, so waiting for a line can be abandoned.
struct Lines {
    wanted: Sender<()>,
    sender: Sender<Line>,
    received: Mutex<Receiver<Line>>,
    /// `true` while the thread reads a line.
    is_reading: AtomicBool,
    /// `true` while a question or the shell waits for a line.
    is_waiting: AtomicBool,
}

enum Line {
    /// A line including its line ending, or an empty string at the end of the input.
    Read(io::Result<String>),
    GivenUp,
}

impl Lines {
    fn get() -> &'static Self {
        static LINES: OnceLock<Lines> = OnceLock::new();
        LINES.get_or_init(|| {
            let (wanted, wishes) = channel();
            let (sender, received) = channel();
            let lines = sender.clone();
            thread::spawn(move || {
                for () in wishes {
                    let mut text = String::new();
                    let read = io::stdin().read_line(&mut text).map(|_| text);
                    if lines.send(Line::Read(read)).is_err() {
                        break;
                    }
                }
            });
            Self {
                wanted,
                sender,
                received: Mutex::new(received),
                is_reading: AtomicBool::default(),
                is_waiting: AtomicBool::default(),
            }
        })
    }
}

/// Writes to standard error, without a line end. The text may come from anywhere.
pub(super) fn say(text: &str) {
    say_as_is(&shown(text, &io::stderr()));
}

/// Like [`say`], but for text of this program, which may move the cursor.
pub(super) fn say_as_is(text: &str) {
    let mut stderr = io::stderr().lock();
    // Errors are ignored because there is nowhere to report them.
    let _ = stderr
        .write_all(text.as_bytes())
        .and_then(|()| stderr.flush());
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_does_not_fit_a_field_is_asked_for_again() {
        let number = json!({"type": "integer", "minimum": 1, "maximum": 9});
        let choice = json!({"type": "string", "oneOf": [{"const": "a", "title": "A"}]});
        for (field, value, expected) in [
            (&number, json!(9), true),
            (&number, json!(10), false),
            (&number, json!("x"), false),
            (&choice, json!("a"), true),
            (&choice, json!("b"), false),
            (&json!({"type": "string", "enum": ["a"]}), json!("b"), false),
            (&json!({"type": "array"}), json!(["a"]), true),
            (&json!({"type": "boolean"}), json!("maybe"), false),
            (&json!({"type": "string"}), json!("anything"), true),
        ] {
            assert_eq!(fits(field, &value), expected, "{field}: {value}");
        }
    }
}
