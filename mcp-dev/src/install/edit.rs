//! Makes changes to the text of a configuration file, for a server that has no library for this.
//!
//! A request is read from standard input: the `format`, `json` or `toml`, the `text`, and the `changes`. The answer has the
//! new `text` and the `value` of the whole document, or an `error` that continues a sentence about the file.

use std::io::Read as _;

use anyhow::{Context as _, Result};
use clap::Command;
use serde::Deserialize;
use serde_json::{Value, json};

use super::commented_json::{edit_json, parse_json};
use super::toml::{edit_toml, parse_toml};
use crate::lines::say;

/// The name of the command.
pub(crate) const NAME: &str = "edit-configuration";

/// Maximum size of a request.
const MAX_REQUEST: u64 = 64 << 20;

/// The message about a document that does not have the expected form.
pub(super) const NO_OBJECT: &str = "does not have an object in which servers are configured";

/// A member to set or remove. Missing objects along the path are created.
#[derive(Debug, Deserialize)]
pub(super) struct Change {
    pub(super) path: Vec<String>,
    /// The new value, or `None` to remove the member.
    pub(super) value: Option<Value>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Format {
    Json,
    Toml,
}

#[derive(Debug, Deserialize)]
struct Request {
    format: Format,
    text: String,
    changes: Vec<Change>,
}

/// Returns the definition of the command, which is for servers only.
pub(crate) fn command() -> Command {
    Command::new(NAME)
        .about("Edit the text of a configuration file for a server")
        .hide(true)
}

/// Answers the request on standard input.
pub(crate) fn run() -> Result<()> {
    let mut text = Vec::new();
    let mut stdin = std::io::stdin().lock().take(MAX_REQUEST);
    stdin.read_to_end(&mut text)?;
    let request = serde_json::from_slice(&text).context("standard input is not a request")?;
    say(&format!("{}\n", answer(&request)))
}

fn answer(request: &Request) -> Value {
    match edit(request.format, &request.text, &request.changes) {
        Ok((text, value)) => json!({"text": text, "value": value}),
        Err(problem) => json!({"error": problem}),
    }
}

/// Returns the text after the changes, and what it means.
pub(super) fn edit(
    format: Format,
    text: &str,
    changes: &[Change],
) -> Result<(String, Value), String> {
    let parse = |text: &str| match format {
        Format::Json => parse_json(text),
        Format::Toml => parse_toml(text),
    };
    // The text is edited only if it can be read, and stays as it is without changes.
    parse(text)?;
    let text = match (changes, format) {
        ([], _) => text.to_owned(),
        (changes, Format::Json) => edit_json(text, changes)?,
        (changes, Format::Toml) => edit_toml(text, changes)?,
    };
    let value = parse(&text)?;
    Ok((text, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_answered_with_text_and_value_or_an_error() {
        let asked = |request: &str| answer(&serde_json::from_str(request).unwrap());
        assert_eq!(
            asked(r#"{"format":"json","text":"{} // b","changes":[{"path":["a","b"],"value":1}]}"#),
            json!({"text": "{\n  \"a\": {\n    \"b\": 1\n  }\n} // b", "value": {"a": {"b": 1}}})
        );
        assert_eq!(
            asked(r#"{"format":"toml","text":"a = 1 # b\n","changes":[{"path":["a"]}]}"#)["value"],
            json!({})
        );
        assert_eq!(
            asked(r#"{"format":"toml","text":"a = 1 # b","changes":[]}"#),
            json!({"text": "a = 1 # b", "value": {"a": 1}})
        );
        let refused = asked(r#"{"format":"json","text":"{","changes":[]}"#);
        let problem = refused["error"].as_str().unwrap();
        assert!(problem.starts_with("is not valid JSON"), "{problem}");
        serde_json::from_str::<Request>(r#"{"format":"yaml","text":"","changes":[]}"#).unwrap_err();
    }
}
