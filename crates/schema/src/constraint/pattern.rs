//! Regular expressions in JSON Schema.

use std::fmt::Write as _;

use regex_lite::Regex;
use serde_json::Value;

use crate::explain::quote;

/// The keyword for patterns.
pub(crate) const PATTERN: &str = "pattern";

/// Maximum length of a pattern, in bytes.
const MAX_LENGTH: usize = 4096;

/// Compiles a pattern with JSON Schema semantics: the pattern is unanchored and matches Unicode scalar values. Matching
/// takes linear time.
pub(crate) fn compile_pattern(pattern: &str) -> Result<Regex, String> {
    if pattern.len() > MAX_LENGTH {
        return Err(format!("the pattern is longer than {MAX_LENGTH} bytes"));
    }
    regex_lite::RegexBuilder::new(&translate_pattern(pattern))
        .size_limit(1 << 20)
        .build()
        .map_err(|error| format!("pattern `{pattern}` is not supported: {error}"))
}

/// Returns the message for a string that does not match a pattern.
pub(crate) fn mismatch_message(text: &str, pattern: &str) -> String {
    let received = quote(&Value::String(text.to_owned()));
    format!("{received} does not match the pattern `{pattern}`")
}

/// Translates ECMA-262 syntax into the regex engine's syntax wherever the two differ.
fn translate_pattern(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut characters = pattern.chars().peekable();
    let mut in_class = false;
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('/') => out.push('/'),
                Some('-') => out.push_str("\\-"),
                Some('u') if characters.peek() != Some(&'{') => {
                    let digits: String = characters.by_ref().take(4).collect();
                    let _ = write!(out, "\\x{{{digits}}}");
                }
                Some('u') => out.push_str("\\x"),
                Some('c') => match characters.next() {
                    Some(control) if control.is_ascii_alphabetic() => {
                        let _ = write!(out, "\\x{{{:x}}}", u32::from(control) & 0x1f);
                    }
                    other => {
                        out.push_str("\\c");
                        out.extend(other);
                    }
                },
                // `\w` is limited to ASCII in both ECMA-262 and the engine; `\s` includes non-ASCII characters only in
                // ECMA-262.
                Some('s') if !in_class => out.push_str(r"[\s\x{a0}\x{feff}\x{2028}\x{2029}\x{1680}\x{2000}-\x{200a}\x{202f}\x{205f}\x{3000}]"),
                Some('S') if !in_class => out.push_str(r"[^\s\x{a0}\x{feff}\x{2028}\x{2029}\x{1680}\x{2000}-\x{200a}\x{202f}\x{205f}\x{3000}]"),
                Some(other) => {
                    out.push('\\');
                    out.push(other);
                }
                None => out.push('\\'),
            },
            '[' if in_class => out.push_str("\\["),
            '[' => {
                in_class = true;
                out.push('[');
                if characters.peek() == Some(&'^') {
                    characters.next();
                    out.push('^');
                }
            }
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            '&' | '~' if in_class => {
                out.push('\\');
                out.push(character);
            }
            other => out.push(other),
        }
    }
    out
}
