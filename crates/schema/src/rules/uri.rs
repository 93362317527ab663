//! Checks the syntax of URIs and URI templates. The checks are `const fn`s that are applied to attributes at compile
//! time and to other definitions at run time.
//!
//! Specification: RFC 3986 (schemes), RFC 6570 (templates).

use crate::suggest::same;
use crate::verdict::{RuleVerdict, character_length};

/// Checks that a URI starts with a scheme and a colon, and contains no spaces, control characters or braces.
#[must_use]
pub const fn uri(text: &str) -> RuleVerdict {
    if !has_scheme(text.as_bytes()) {
        return missing_scheme_verdict(text);
    }
    let bytes = text.as_bytes();
    let mut index = 0;
    while index < bytes.len() {
        match bytes[index] {
            b'{' | b'}' => {
                return RuleVerdict::wrong(&[
                    "URI `",
                    text,
                    "` has a variable, so it is a URI template; use `resource_template`",
                ]);
            }
            b'%' if !is_percent_encoded(bytes, index) => {
                return stray_percent_verdict("URI `", text);
            }
            byte if is_forbidden(byte) => return forbidden_byte_verdict("URI `", text, byte),
            _ => index += 1,
        }
    }
    RuleVerdict::HOLDS
}

const fn missing_scheme_verdict(text: &str) -> RuleVerdict {
    RuleVerdict::wrong(&[
        "URI `",
        text,
        "` has no scheme; add one, as in `notes:///all`",
    ])
}

const fn has_scheme(bytes: &[u8]) -> bool {
    let mut index = 0;
    while index < bytes.len() {
        match bytes[index] {
            b':' => return index > 0,
            byte if byte.is_ascii_alphabetic() => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if index > 0 => {}
            _ => return false,
        }
        index += 1;
    }
    false
}

/// Returns `true` for bytes that neither RFC 3986 nor RFC 6570 allows.
const fn is_forbidden(byte: u8) -> bool {
    matches!(
        byte,
        0..=b' ' | 0x7F | b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'|'
    )
}

const fn forbidden_byte_verdict(what: &str, text: &str, byte: u8) -> RuleVerdict {
    let verdict = RuleVerdict::wrong(&[what, text, "` contains "]);
    match byte {
        b' ' => verdict.with("a space; write `%20`"),
        0..=0x1F | 0x7F => verdict.with("a control character"),
        other => verdict
            .with("`")
            .with_byte(other)
            .with("`; percent-encode it"),
    }
}

/// Returns `true` if the percent sign at `index` is followed by two hexadecimal digits.
const fn is_percent_encoded(bytes: &[u8], index: usize) -> bool {
    index + 2 < bytes.len()
        && bytes[index + 1].is_ascii_hexdigit()
        && bytes[index + 2].is_ascii_hexdigit()
}

const fn stray_percent_verdict(what: &str, text: &str) -> RuleVerdict {
    RuleVerdict::wrong(&[what, text, "` has a `%` that encodes nothing; write `%25`"])
}

/// Checks that the syntax of a template conforms to RFC 6570 up to level 3, plus the explode modifier. Does not check
/// that a parameter exists for each variable.
#[must_use]
pub const fn template_syntax(template: &str) -> RuleVerdict {
    const WHAT: &str = "URI template `";
    let bytes = template.as_bytes();
    if !has_scheme(bytes) {
        return missing_scheme_verdict(template);
    }
    let mut variables = 0;
    let mut index = 0;
    while index < bytes.len() {
        match bytes[index] {
            b'{' => {
                let end = find_byte(bytes, index, b'}');
                if end == bytes.len() {
                    return RuleVerdict::wrong(&[WHAT, template, "` has a `{` without `}`"]);
                }
                let verdict = expression_verdict(template, index + 1, end);
                if !verdict.holds() {
                    return verdict;
                }
                variables += 1;
                index = end + 1;
            }
            b'}' => return RuleVerdict::wrong(&[WHAT, template, "` has a `}` without `{`"]),
            b'%' if !is_percent_encoded(bytes, index) => {
                return stray_percent_verdict(WHAT, template);
            }
            // A URI may contain an apostrophe, but a template may not.
            byte if is_forbidden(byte) || byte == b'\'' => {
                return forbidden_byte_verdict(WHAT, template, byte);
            }
            _ => index += 1,
        }
    }
    if variables == 0 {
        return RuleVerdict::wrong(&[
            WHAT,
            template,
            "` has no variable, so it is a single URI; use `resource`",
        ]);
    }
    let mut variables = TemplateVariables::new(template);
    while let Some(variable) = variables.next() {
        if variable.count_in(template) > 1 {
            return RuleVerdict::wrong(&[WHAT, template, "` names a variable twice: `"])
                .with(variable.name(template))
                .with("`; rename one of them");
        }
    }
    RuleVerdict::HOLDS
}

/// Checks the text between a pair of braces: an optional operator, followed by variables separated by commas.
const fn expression_verdict(template: &str, start: usize, end: usize) -> RuleVerdict {
    const WHAT: &str = "URI template `";
    let bytes = template.as_bytes();
    let mut index = start;
    if index < end {
        match bytes[index] {
            b'+' | b'#' | b'.' | b'/' | b';' | b'?' | b'&' => index += 1,
            b'=' | b',' | b'!' | b'@' | b'|' => {
                return RuleVerdict::wrong(&[WHAT, template, "` uses the operator `"])
                    .with_byte(bytes[index])
                    .with("`, which RFC 6570 reserves");
            }
            _ => {}
        }
    }
    let mut name = index;
    loop {
        let byte = if index < end { bytes[index] } else { b',' };
        match byte {
            b',' if index == name => {
                return RuleVerdict::wrong(&[
                    WHAT,
                    template,
                    "` has braces without a variable name",
                ]);
            }
            b',' if index == end => return RuleVerdict::HOLDS,
            b',' => name = index + 1,
            b'*' if index > name && (index + 1 == end || bytes[index + 1] == b',') => {}
            b':' if index > name => {
                return RuleVerdict::wrong(&[
                    WHAT,
                    template,
                    "` truncates a variable with `:`, which cannot be undone when reading; remove it",
                ]);
            }
            b'*' if index == name => {
                return RuleVerdict::wrong(&[
                    WHAT,
                    template,
                    "` has a `*` before a variable's name; write it after the name: `{ids*}`",
                ]);
            }
            byte if is_plain_name_byte(byte) => {}
            b'.' if index > name && index + 1 < end && is_plain_name_byte(bytes[index + 1]) => {}
            byte => {
                return RuleVerdict::wrong(&[
                    WHAT,
                    template,
                    "` has a variable name that contains ",
                ])
                .with(if byte == b' ' { "a space" } else { "`" })
                .with(if byte == b' ' {
                    ""
                } else {
                    character_at(template, index)
                })
                .with(if byte == b' ' { "" } else { "`" })
                .with("; use letters, digits and `_`");
            }
        }
        index += 1;
    }
}

/// Returns `true` if a byte may occur anywhere in a variable name.
const fn is_plain_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Returns the character that starts at `index`, or an empty string if `index` is inside a character.
const fn character_at(text: &str, index: usize) -> &str {
    substring(
        text,
        index,
        index + character_length(text.as_bytes()[index]),
    )
}

const fn substring(text: &str, start: usize, end: usize) -> &str {
    let bytes = text.as_bytes();
    if end > bytes.len() || start > end {
        return "";
    }
    match str::from_utf8(bytes.split_at(end).0.split_at(start).1) {
        Ok(text) => text,
        Err(_) => "",
    }
}

const fn find_byte(bytes: &[u8], mut index: usize, wanted: u8) -> usize {
    while index < bytes.len() && bytes[index] != wanted {
        index += 1;
    }
    index
}

/// The position of a variable's name in its template.
#[derive(Clone, Copy, Debug)]
pub struct VariableSpan {
    start: usize,
    end: usize,
}

impl VariableSpan {
    /// Returns the name of the variable.
    #[must_use]
    pub const fn name(self, template: &str) -> &str {
        substring(template, self.start, self.end)
    }

    const fn count_in(self, template: &str) -> usize {
        let mut count = 0;
        let mut variables = TemplateVariables::new(template);
        while let Some(other) = variables.next() {
            if same(other.name(template), self.name(template)) {
                count += 1;
            }
        }
        count
    }
}

/// Iterates over the variables of a template whose syntax has been checked.
#[derive(Debug)]
pub struct TemplateVariables<'a> {
    bytes: &'a [u8],
    index: usize,
    inside: bool,
}

impl<'a> TemplateVariables<'a> {
    /// Creates an iterator positioned before the first variable of a template.
    #[must_use]
    pub const fn new(template: &'a str) -> Self {
        Self {
            bytes: template.as_bytes(),
            index: 0,
            inside: false,
        }
    }

    /// Returns the position of the next variable, or `None` after the last one.
    pub const fn next(&mut self) -> Option<VariableSpan> {
        while self.index < self.bytes.len() {
            let byte = self.bytes[self.index];
            if !self.inside {
                self.inside = byte == b'{';
                self.index += 1;
            } else if is_name_byte(byte) && !(byte == b'.' && self.bytes[self.index - 1] == b'{') {
                let start = self.index;
                while self.index < self.bytes.len() && is_name_byte(self.bytes[self.index]) {
                    self.index += 1;
                }
                return Some(VariableSpan {
                    start,
                    end: self.index,
                });
            } else {
                self.inside = byte != b'}';
                self.index += 1;
            }
        }
        None
    }
}

const fn is_name_byte(byte: u8) -> bool {
    is_plain_name_byte(byte) || byte == b'.'
}

/// Returns `true` if a template has a variable with this name.
#[must_use]
pub const fn template_has_variable(template: &str, name: &str) -> bool {
    let mut variables = TemplateVariables::new(template);
    while let Some(variable) = variables.next() {
        if same(variable.name(template), name) {
            return true;
        }
    }
    false
}
