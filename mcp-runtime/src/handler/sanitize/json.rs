//! Cleans the strings in a JSON text and copies everything else unchanged, so that numbers keep all their digits.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;

use crate::jsonrpc::{Scan, unquote, write_string};

/// The reason why JSON cannot be cleaned.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CleanError {
    /// Two members of an object would end up with this name, and parsers would keep only one of them.
    SameName(String),
    /// The text is not JSON that all parsers accept.
    Unreadable,
}

impl fmt::Display for CleanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SameName(name) => {
                write!(
                    f,
                    "two members of the same object would both be named `{name}`"
                )
            }
            Self::Unreadable => f.write_str("the text is not JSON that every parser accepts"),
        }
    }
}

/// Maps each cleaned name in an object to the original name.
type OriginalNames = HashMap<String, String>;

/// Returns the same JSON with its strings and names cleaned.
///
/// # Errors
///
/// Returns an error if distinct names become equal, or if the text is not JSON that all parsers accept.
pub(super) fn clean(json: &str, mut clean: impl FnMut(&mut String)) -> Result<String, CleanError> {
    let mut out = Vec::with_capacity(json.len());
    // One entry for each open bracket. If the bracket opens an object, the entry holds the names read so far.
    let mut open: Vec<Option<OriginalNames>> = Vec::new();
    let mut names_come = false;
    let mut rest = json;
    loop {
        let is_token = |byte: u8| matches!(byte, b'"' | b'{' | b'}' | b'[' | b']' | b',');
        let Some(at) = rest.bytes().position(is_token) else {
            out.extend_from_slice(rest.as_bytes());
            return String::from_utf8(out).map_err(|_| CleanError::Unreadable);
        };
        let (before, from) = rest.split_at_checked(at).ok_or(CleanError::Unreadable)?;
        out.extend_from_slice(before.as_bytes());
        let length = match from.bytes().next() {
            Some(b'"') => {
                let string = Scan::new(from).next_value();
                string.ok_or(CleanError::Unreadable)?.len()
            }
            _ => 1,
        };
        let (token, after) = from
            .split_at_checked(length)
            .ok_or(CleanError::Unreadable)?;
        rest = after;
        match token {
            "{" => open.push(Some(OriginalNames::new())),
            "[" => open.push(None),
            "}" | "]" => drop(open.pop()),
            _ => {}
        }
        if !token.starts_with('"') {
            names_come = matches!((token, open.last()), ("{" | ",", Some(Some(_))));
            out.extend_from_slice(token.as_bytes());
            continue;
        }
        let original = unquote(token).map_err(|_| CleanError::Unreadable)?;
        let mut text = original.clone().into_owned();
        clean(&mut text);
        if text == *original {
            out.extend_from_slice(token.as_bytes());
        } else {
            write_string(&mut out, &text);
        }
        if names_come && let Some(Some(names)) = open.last_mut() {
            match names.entry(text) {
                Entry::Occupied(other) if *other.get() != *original => {
                    return Err(CleanError::SameName(other.key().clone()));
                }
                // The name occurred twice in the input, so cleaning did not cause the conflict.
                Entry::Occupied(_) => {}
                Entry::Vacant(place) => drop(place.insert(original.into_owned())),
            }
        }
        names_come = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(json: &str) -> Result<String, CleanError> {
        clean(json, |text| *text = text.replace("secret", "***"))
    }

    #[test]
    fn strings_are_cleaned_and_all_else_stays() {
        for same in [
            "",
            "null",
            "340282366920938463463374607431768211455",
            r#"{"n":0.1000000000000000055511151231257827021181583404541015625,"e":1E+2,"z":-0.0}"#,
            r#" { "a" : [ 1 , "\u00e9\/\ud83d\ude00" , { } , [ ] ] , "b" : "{,[\"" } "#,
            r#"{"a":1,"a":2,"\u0061":3}"#,
            r#"[{"a":1},{"a":2},{"b":{"a":3},"a":4}]"#,
            r#"{"a":"a","b":"a","c":["a","a"]}"#,
        ] {
            assert_eq!(redacted(same).as_deref(), Ok(same));
        }
        for (json, cleaned) in [
            (r#""secret""#, r#""***""#),
            (r#""se\u0063ret\n\u0001""#, "\"***\\n\\u0001\""),
            (
                r#"{"secret":"secret","b":["secret","secret"],"***b":1}"#,
                r#"{"***":"***","b":["***","***"],"***b":1}"#,
            ),
            (r#"[{"secret":1},{"***":2}]"#, r#"[{"***":1},{"***":2}]"#),
            (
                r#"{"secret":1,"a":{"***":2}}"#,
                r#"{"***":1,"a":{"***":2}}"#,
            ),
            // The name occurred twice in the input.
            (r#"{"secret":1,"secret":2}"#, r#"{"***":1,"***":2}"#),
        ] {
            assert_eq!(redacted(json).as_deref(), Ok(cleaned));
        }
    }

    #[test]
    fn names_that_become_the_same_are_refused() {
        for json in [
            r#"{"secret":1,"***":2}"#,
            r#"{"***":1,"secret":2}"#,
            r#"[0,{"a":{"***":[],"b":{"secret":0},"secret":2}}]"#,
        ] {
            assert_eq!(
                redacted(json),
                Err(CleanError::SameName("***".into())),
                "{json}"
            );
        }
        for json in [r#""\ud800""#, "\"", r#"{"a"#, "\"\\"] {
            assert_eq!(redacted(json), Err(CleanError::Unreadable), "{json}");
        }
    }
}
