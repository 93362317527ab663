//! Descriptions of problems with values, worded so that a model can act on them.
//!
//! Every message states the received value and the allowed values, and suggests a likely correction.
//! [`check`](crate::check) finds the problems.

mod summary;

use std::fmt::Write as _;

use serde_json::Value;

use crate::suggest::closest;
pub use summary::{kind, members};

/// Maximum number of problems that [`describe_faults`] lists.
const MAX_LISTED_PROBLEMS: usize = 20;

/// Maximum length of a quoted value, in characters.
const MAX_QUOTED_CHARACTERS: usize = 60;

/// Maximum number of allowed values or names in a message.
pub(crate) const LISTED: usize = 40;

/// An error in a call's arguments, worded so that a model can act on it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// JSON pointer to the value; empty for the argument object itself.
    pub pointer: String,
    /// States the received value and the allowed values, and suggests a correction.
    pub message: String,
    /// The subject of the problem, for code that needs to distinguish between problems.
    pub about: FaultSubject,
}

/// The subject of a [`Fault`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FaultSubject {
    /// The property with this name is missing.
    Missing(String),
    /// The property with this name is unknown.
    Unknown {
        /// The name that was sent.
        name: String,
        /// The name that is probably meant.
        meant: Option<String>,
    },
    /// It is unknown which variant of an enum is meant.
    Variant {
        /// The pointer to the variant, in which nothing else can be judged.
        of: String,
    },
    /// The value is not of one of these types.
    Type(Vec<String>),
    /// The value is not one of those that are listed.
    Unlisted,
    /// The value itself is wrong in another way.
    #[default]
    Value,
}

impl Fault {
    /// Creates a fault for the value at `pointer`.
    pub fn new(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            pointer: pointer.into(),
            message: message.into(),
            about: FaultSubject::Value,
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.pointer.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.pointer, self.message)
        }
    }
}

/// Returns the text for the model, with one line for each of the first twenty problems.
#[must_use]
pub fn describe_faults(faults: &[Fault]) -> String {
    let mut text = String::new();
    for fault in faults.iter().take(MAX_LISTED_PROBLEMS) {
        if !text.is_empty() {
            text.push('\n');
        }
        let _ = write!(text, "{fault}");
    }
    if let Some(more) = faults
        .len()
        .checked_sub(MAX_LISTED_PROBLEMS)
        .filter(|more| *more > 0)
    {
        let _ = write!(text, "\n… and {more} more");
    }
    text
}

/// Returns the message for a required argument or property that is missing.
pub fn missing_name_message(what: &str, name: &str, schema: Option<&Value>) -> String {
    let mut text = format!("missing {what} `{name}`");
    let Some(schema) = schema else { return text };
    if let Some(Value::Array(allowed)) = schema.get("enum") {
        let all = join_listed(allowed.iter().map(quote), allowed.len());
        let _ = write!(text, "; allowed: {all}");
    } else if let Some(name) = schema.get("type").and_then(Value::as_str) {
        let expected = match name {
            // The summary includes the types of the items or members.
            "array" | "object" => kind(schema),
            "string" if schema.get("format").is_some() => kind(schema),
            name => name.to_owned(),
        };
        let _ = write!(text, "; expected {expected}");
    }
    text
}

/// Returns the message for an unknown name, with all known names, and the similar name that is probably meant, if any,
/// which is not one of those that were given.
#[must_use]
pub fn unknown_name_message(
    what: &str,
    name: &str,
    names: &[&str],
    is_given: impl Fn(&str) -> bool,
) -> (String, Option<String>) {
    let mut text = format!("unknown {what} `{}`", quote_name(name));
    let absent = names.iter().copied().filter(|name| !is_given(name));
    let meant = closest(name, absent);
    match meant {
        Some(meant) => {
            let _ = write!(text, "; did you mean `{meant}`?");
            if names.len() > 1 {
                let _ = write!(text, " (known: {})", quote_names(names));
            }
        }
        None if names.is_empty() => {}
        None => {
            let _ = write!(text, "; known: {}", quote_names(names));
        }
    }
    (text, meant.map(str::to_owned))
}

/// Removes the problem that a name is missing if another problem is that this name is misspelled, because that is one
/// mistake.
pub fn merge_misspelled(faults: &mut Vec<Fault>) {
    let misspelled: Vec<(String, String)> = faults
        .iter()
        .filter_map(|fault| match &fault.about {
            FaultSubject::Unknown { meant, .. } => Some((fault.pointer.clone(), meant.clone()?)),
            _ => None,
        })
        .collect();
    faults.retain(|fault| match &fault.about {
        FaultSubject::Missing(name) => !misspelled
            .iter()
            .any(|(pointer, meant)| *pointer == fault.pointer && meant == name),
        _ => true,
    });
}

/// Returns names for a message, at most [`LISTED`] of them.
pub(crate) fn quote_names(names: &[&str]) -> String {
    join_listed(names.iter().map(|name| format!("`{name}`")), names.len())
}

/// Returns the first values of a list for a message, and the number of the others.
fn join_listed(all: impl Iterator<Item = String>, count: usize) -> String {
    let mut listed: Vec<String> = all.take(LISTED).collect();
    if let Some(more) = count.checked_sub(LISTED).filter(|more| *more > 0) {
        listed.push(format!("{more} more"));
    }
    listed.join(", ")
}

pub(crate) fn unknown_value_message(
    allowed: &[Value],
    text: Option<&str>,
    received: &str,
) -> String {
    if let [only] = allowed {
        return format!("expected {}, received {received}", form(only));
    }
    let all = join_listed(allowed.iter().map(form), allowed.len());
    let names = allowed.iter().filter_map(Value::as_str);
    match text.and_then(|text| closest(text, names)) {
        Some(name) => {
            format!("unknown value {received}; did you mean \"{name}\"? (allowed: {all})")
        }
        None => format!("unknown value {received}; allowed: {all}"),
    }
}

/// Returns an allowed value as JSON. Unlike a received value, it is written out even if it is an object.
fn form(allowed: &Value) -> String {
    match allowed {
        Value::Object(_) => allowed.to_string(),
        other => quote(other),
    }
}

pub(crate) fn join_with_or(names: &[String]) -> String {
    match names {
        [] => "nothing".to_owned(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// Returns a value as JSON, shortened for use in a message.
#[must_use]
pub fn quote(value: &Value) -> String {
    match value {
        Value::Array(items) if items.is_empty() => "[]".to_owned(),
        Value::Array(items) => format!("an array of {}", items.len()),
        Value::Object(members) if members.is_empty() => "{}".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::String(text) if text.chars().nth(MAX_QUOTED_CHARACTERS).is_some() => {
            let start: String = text.chars().take(MAX_QUOTED_CHARACTERS).collect();
            format!("{}…", Value::String(start))
        }
        scalar => scalar.to_string(),
    }
}

/// Returns a name chosen by the client, escaped and shortened for use in a message.
pub(crate) fn quote_name(name: &str) -> String {
    let mut shown: String = name
        .chars()
        .take(MAX_QUOTED_CHARACTERS)
        .flat_map(char::escape_debug)
        .collect();
    if name.chars().nth(MAX_QUOTED_CHARACTERS).is_some() {
        shown.push('…');
    }
    shown
}

/// Appends a reference token to a JSON pointer.
pub fn push_token(out: &mut String, token: &str) {
    out.push('/');
    for character in token.chars() {
        match character {
            '~' => out.push_str("~0"),
            '/' => out.push_str("~1"),
            other => out.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_comes_with_all_names_and_a_suggestion() {
        let names = ["query", "limit"];
        let message = |name: &str, given: &[&str]| {
            unknown_name_message("argument", name, &names, |name| given.contains(&name))
        };
        let suggestion =
            "unknown argument `qurey`; did you mean `query`? (known: `query`, `limit`)";
        let meant = Some("query".to_owned());
        assert_eq!(message("qurey", &["limit"]), (suggestion.to_owned(), meant));
        let all = "unknown argument `qurey`; known: `query`, `limit`";
        assert_eq!(message("qurey", &["query"]), (all.to_owned(), None));
    }
}
