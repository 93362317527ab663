//! Sanitizers for all text that a model reads, which are applied before the text is written.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::iter::Peekable;
use std::str::Chars;

use mcp_core::dispatch::{ServerAddOn, ServerParts};
use mcp_core::handler::middleware::ForModel;
use mcp_protocol::jsonrpc::{Scan, unquote, write_string};
use mcp_protocol::types::{ContentBlock, ResourceContents};
use serde_json::value::RawValue;

/// A function that cleans a string.
type TextCleaner = dyn for<'a> Fn(&'a str) -> Cow<'a, str> + Send + Sync;

/// Applies a function to all text that a model reads: tool results and errors, prompt messages, resource contents, and the
/// names and values in structured content. Several sanitizers are applied in the order in which they were added.
///
/// ```
/// use std::borrow::Cow;
///
/// use mcp_runtime::extension::Sanitizer;
/// use mcp_runtime::values::strip_invisible;
///
/// let server = mcp_runtime::new_server!()
///     .with(Sanitizer::new(strip_invisible))
///     .with(Sanitizer::new(|text| Cow::Owned(text.replace("hunter2", "***"))));
/// ```
///
/// URIs, `_meta`, images and audio remain unchanged, and numbers in structured content keep all their digits. If the
/// function panics, or gives two members of an object the same name, the call fails with an internal error.
// Source: revision 2026-07-28, server/tools, "Security Considerations".
pub struct Sanitizer(Box<TextCleaner>);

impl Sanitizer {
    /// Creates a sanitizer from a function that cleans a string.
    pub fn new(clean: impl for<'a> Fn(&'a str) -> Cow<'a, str> + Send + Sync + 'static) -> Self {
        Self(Box::new(clean))
    }

    fn clean(&self, value: &mut ForModel<'_>) -> Result<(), CleanError> {
        match value {
            ForModel::Tool(result) => {
                let blocks = result.content.iter_mut();
                blocks.for_each(|block| self.clean_block(block));
                if let Some(structured) = &mut result.structured_content {
                    let cleaned = self.clean_json(structured.get())?;
                    *structured =
                        RawValue::from_string(cleaned).map_err(|_| CleanError::Unreadable)?;
                }
            }
            ForModel::Prompt(result) => {
                self.clean_optional(&mut result.description);
                let messages = result.messages.iter_mut();
                messages.for_each(|message| self.clean_block(&mut message.content));
            }
            ForModel::Resource(result) => {
                let contents = result.contents.iter_mut();
                contents.for_each(|contents| self.clean_contents(contents));
            }
            ForModel::Error(error) => {
                self.clean_text(&mut error.message);
                if let Some(data) = &mut error.data {
                    let cleaned = self.clean_json(&data.to_string())?;
                    *data = serde_json::from_str(&cleaned).map_err(|_| CleanError::Unreadable)?;
                }
            }
        }
        Ok(())
    }

    fn clean_json(&self, json: &str) -> Result<String, CleanError> {
        clean(json, |text| self.clean_text(text))
    }

    fn clean_block(&self, block: &mut ContentBlock) {
        block.each_text(&mut |text| self.clean_text(text));
    }

    fn clean_contents(&self, contents: &mut ResourceContents) {
        self.clean_optional(&mut contents.text);
    }

    fn clean_optional(&self, text: &mut Option<String>) {
        if let Some(text) = text {
            self.clean_text(text);
        }
    }

    fn clean_text(&self, text: &mut String) {
        let cleaned = match (self.0)(text) {
            // Equal pointers show that the string is unchanged; equal lengths would not.
            Cow::Borrowed(cleaned) if std::ptr::eq(cleaned, text.as_str()) => return,
            cleaned => cleaned.into_owned(),
        };
        *text = cleaned;
    }
}

impl ServerAddOn for Sanitizer {
    fn add_to(self, parts: &mut ServerParts) {
        parts.rewrites.push(move |value| {
            let cleaned = self.clean(value);
            cleaned.map_err(|cause| format!("it cannot be sanitized: {cause}"))
        });
    }
}

impl fmt::Debug for Sanitizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sanitizer")
    }
}

/// Removes characters that people cannot see but that models may act on: terminal escape sequences, control characters,
/// and Unicode characters that only tag text or change its direction. Line breaks and tabs are kept.
///
/// Intended for a [`Sanitizer`].
///
/// ```
/// use mcp_runtime::values::strip_invisible;
///
/// assert_eq!(strip_invisible("\u{1b}[31mred\u{1b}[0m\tand\nblue"), "red\tand\nblue");
/// assert_eq!(strip_invisible("harmless\u{E0041}\u{E0042}"), "harmless");
/// ```
#[must_use]
pub fn strip_invisible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut visible = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    let mut may_end = true;
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => skip_escape(&mut characters, &mut may_end),
            '\u{9b}' => skip_control(&mut characters),
            _ if is_hidden(character) => {}
            _ => visible.push(character),
        }
    }
    Cow::Owned(visible)
}

fn is_hidden(character: char) -> bool {
    match character {
        '\n' | '\r' | '\t' => false,
        // Tags and selectors that can contain text, direction marks, and other invisible characters.
        '\u{E0000}'..='\u{E007F}'
        | '\u{E0100}'..='\u{E01EF}'
        | '\u{061C}'
        | '\u{200E}'..='\u{200F}'
        | '\u{202A}'..='\u{202E}'
        | '\u{2066}'..='\u{2069}'
        | '\u{200B}'
        | '\u{2060}'..='\u{2064}'
        | '\u{FEFF}' => true,
        other => other.is_control(),
    }
}

/// Skips the text after ESC: an escape sequence, a string for the terminal, or a single character.
///
/// `may_end` is `true` until a search for the end of such a string has failed, which prevents repeated searches.
fn skip_escape(characters: &mut Peekable<Chars<'_>>, may_end: &mut bool) {
    match characters.next_if(|character| matches!(character, ' '..='~')) {
        Some('[') => skip_control(characters),
        Some(']' | 'P' | 'X' | '^' | '_') if *may_end => {
            // Such a string ends with BEL or ESC \. If neither of these follows, this is not such a string, so its text
            // is kept.
            let mut ahead = characters.clone();
            while let Some(character) = ahead.next() {
                let is_end = character == '\u{7}'
                    || character == '\u{1b}' && ahead.next_if_eq(&'\\').is_some();
                if is_end {
                    *characters = ahead;
                    return;
                }
            }
            *may_end = false;
        }
        Some(' '..='/') => {
            characters.next_if(|character| matches!(character, '0'..='~'));
        }
        _ => {}
    }
}

/// Skips the parameters and the final byte of a control sequence.
fn skip_control(characters: &mut Peekable<Chars<'_>>) {
    while characters
        .next_if(|character| matches!(character, ' '..='?'))
        .is_some()
    {}
    characters.next_if(|character| matches!(character, '@'..='~'));
}

// --- Cleans the strings in a JSON text and copies everything else unchanged, so that numbers keep all their digits.

/// The reason why JSON cannot be cleaned.
#[derive(Debug, PartialEq, Eq)]
enum CleanError {
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
fn clean(json: &str, mut clean: impl FnMut(&mut String)) -> Result<String, CleanError> {
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
    mod sanitize {
        use mcp_core::handler::middleware::Rewrites;
        use mcp_protocol::jsonrpc::ErrorObject;
        use mcp_protocol::types::CallToolResult;
        use serde_json::json;

        use crate::sanitize::*;

        #[test]
        fn control_sequences_and_hidden_characters_are_removed() {
            for (text, visible) in [
                ("plain\r\n\ttext é 日本 👩‍👩‍👧", "plain\r\n\ttext é 日本 👩‍👩‍👧"),
                ("\u{1b}[1;31mred\u{1b}[0m", "red"),
                ("\u{9b}31mred", "red"),
                ("\u{1b}]0;title\u{7}text", "text"),
                ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
                ("\u{1b}]no end", "no end"),
                ("\u{1b}(Btext", "text"),
                ("\u{1b}", ""),
                ("a\u{0}b\u{8}c\u{7f}d\u{85}e", "abcde"),
                ("a\u{202e}b\u{2066}c\u{200b}d\u{feff}", "abcd"),
                ("a\u{200f}b\u{61c}c\u{e0101}", "abc"),
                ("ok\u{E0001}\u{E0068}\u{E0069}\u{E007F}", "ok"),
            ] {
                assert_eq!(strip_invisible(text), visible, "{text:?}");
                assert_eq!(strip_invisible(visible), visible);
            }
            assert!(matches!(strip_invisible("plain"), Cow::Borrowed("plain")));
        }

        #[test]
        fn unterminated_sequences_are_scanned_once() {
            let text = "\u{1b}]x".repeat(1 << 20);
            assert_eq!(strip_invisible(&text), "x".repeat(1 << 20));
        }

        #[test]
        fn a_replacement_of_the_same_length_is_applied() {
            let sanitizer = Sanitizer::new(|text| {
                Cow::Borrowed(if text == "secret" { "hidden" } else { text })
            });
            let mut text = "secret".to_owned();
            sanitizer.clean_text(&mut text);
            assert_eq!(text, "hidden");
        }

        fn secret(text: &str) -> Cow<'_, str> {
            if text.contains("secret") {
                Cow::Owned(text.replace("secret", "***"))
            } else {
                Cow::Borrowed(text)
            }
        }

        #[test]
        fn every_text_of_a_result_is_cleaned() {
            let mut parts = ServerParts::default();
            Sanitizer::new(secret).add_to(&mut parts);
            Sanitizer::new(|text| Cow::Borrowed(text.trim())).add_to(&mut parts);
            let rewrites: Rewrites = parts.rewrites;
            let mut result: CallToolResult = serde_json::from_value(json!({
            "content": [
                {"type": "text", "text": " secret one "},
                {"type": "image", "data": "secret", "mimeType": "image/png"},
                {"type": "resource_link", "uri": "x://secret", "name": "secret", "title": "secret", "description": "secret"},
                {"type": "resource", "resource": {"uri": "x://y", "text": "secret"}},
            ],
            "structuredContent": {"secret": ["secret", 1, {"deep": "a secret"}]},
        }))
        .unwrap();
            rewrites.apply(ForModel::Tool(&mut result)).unwrap();
            assert_eq!(
                serde_json::to_value(&result).unwrap(),
                json!({
                    "content": [
                        {"type": "text", "text": "*** one"},
                        {"type": "image", "data": "secret", "mimeType": "image/png"},
                        {"type": "resource_link", "uri": "x://secret", "name": "***", "title": "***", "description": "***"},
                        {"type": "resource", "resource": {"uri": "x://y", "text": "***"}},
                    ],
                    "structuredContent": {"***": ["***", 1, {"deep": "a ***"}]},
                })
            );
            let data = json!({"faults": [{"message": "secret"}]});
            let mut error = ErrorObject::internal("secret").with_data(data);
            rewrites.apply(ForModel::Error(&mut error)).unwrap();
            assert_eq!(error.message, "***");
            assert_eq!(error.data, Some(json!({"faults": [{"message": "***"}]})));
        }
    }

    mod json {
        use crate::sanitize::*;

        fn redacted(json: &str) -> Result<String, CleanError> {
            clean(json, |text| *text = text.replace("secret", "***"))
        }

        #[test]
        fn strings_in_json_are_sanitized_and_other_values_unchanged() {
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
}
