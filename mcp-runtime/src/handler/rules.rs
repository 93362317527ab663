//! Rules for names, addresses, media types and headers, as `const fn`s: the macros apply them at compile time to what is
//! written in an attribute, the registry at run time to what is defined by a program.
//!
//! A template is only checked for its form here; `template` matches addresses against it.
//!
//! Specification: 2026-07-28, server/tools, "Tool Names"; RFC 6570 (templates), RFC 9110 (tokens), RFC 3986 (schemes).

use crate::handler::definition::has_argument;
use crate::handler::parameter::ParameterMeta;

/// Longest name of a tool.
const MAX_NAME: usize = 128;

/// What a rule says: that all is well, or what is wrong.
#[derive(Clone, Copy, Debug)]
pub struct Verdict {
    text: [u8; Verdict::CAPACITY],
    length: usize,
    holds: bool,
}

impl Verdict {
    const CAPACITY: usize = 512;

    const HOLDS: Self = Self {
        text: [0; Self::CAPACITY],
        length: 0,
        holds: true,
    };

    /// Whether all is well.
    #[must_use]
    pub const fn holds(&self) -> bool {
        self.holds
    }

    /// What is wrong; empty if all is well.
    #[must_use]
    pub const fn text(&self) -> &str {
        match str::from_utf8(self.text.split_at(self.length).0) {
            Ok(text) => text,
            Err(_) => "",
        }
    }

    /// The verdict as a result, for callers at run time.
    ///
    /// # Errors
    ///
    /// What is wrong.
    pub(crate) fn into_result(self) -> Result<(), String> {
        if self.holds {
            Ok(())
        } else {
            Err(self.text().to_owned())
        }
    }

    const fn wrong(parts: &[&str]) -> Self {
        let mut verdict = Self {
            holds: false,
            ..Self::HOLDS
        };
        let mut index = 0;
        while index < parts.len() {
            verdict = verdict.with(parts[index]);
            index += 1;
        }
        verdict
    }

    /// With more text. What does not fit is cut at a character.
    const fn with(mut self, text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut index = 0;
        while index < bytes.len() {
            let length = character_length(bytes[index]);
            if self.length + length > Self::CAPACITY || index + length > bytes.len() {
                return self;
            }
            let end = index + length;
            while index < end {
                self.text[self.length] = bytes[index];
                self.length += 1;
                index += 1;
            }
        }
        self
    }

    /// With a byte of ASCII, or a question mark in place of any other.
    const fn with_byte(mut self, byte: u8) -> Self {
        if self.length < Self::CAPACITY {
            self.text[self.length] = if byte.is_ascii() { byte } else { b'?' };
            self.length += 1;
        }
        self
    }
}

const fn character_length(first: u8) -> usize {
    match first {
        0..0xC0 => 1,
        0xC0..0xE0 => 2,
        0xE0..0xF0 => 3,
        _ => 4,
    }
}

/// A tool name is 1 to 128 of `A-Z a-z 0-9 _ - .`.
#[must_use]
pub const fn tool_name(name: &str) -> Verdict {
    const ALLOWED: &str = "; use 1 to 128 of A-Z a-z 0-9 _ - .";
    let bytes = name.as_bytes();
    if bytes.is_empty() {
        return Verdict::wrong(&["tool name is empty", ALLOWED]);
    }
    if bytes.len() > MAX_NAME {
        return Verdict::wrong(&["tool name `", name, "` is too long", ALLOWED]);
    }
    let mut index = 0;
    while index < bytes.len() {
        let byte = bytes[index];
        if !(byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')) {
            let verdict = Verdict::wrong(&["tool name `", name, "` contains "]);
            return match byte {
                b' ' => verdict.with("a space"),
                b'\t' | b'\n' | b'\r' => verdict.with("a control character"),
                0x80.. => verdict.with("a letter that is not ASCII"),
                other => verdict.with("`").with_byte(other).with("`"),
            }
            .with(ALLOWED);
        }
        index += 1;
    }
    Verdict::HOLDS
}

/// A header is a token of RFC 9110: letters, digits and ``!#$%&'*+-.^_`|~``.
#[must_use]
pub const fn header(name: &str) -> Verdict {
    const ALLOWED: &str = "; use letters, digits and `-`, as in `Region`";
    let bytes = name.as_bytes();
    if bytes.is_empty() {
        return Verdict::wrong(&["header name is empty", ALLOWED]);
    }
    let mut index = 0;
    while index < bytes.len() {
        if !is_token(bytes[index]) {
            let verdict = Verdict::wrong(&["header name `", name, "` contains "]);
            return match bytes[index] {
                b' ' => verdict.with("a space"),
                0..=0x1F | 0x7F => verdict.with("a control character"),
                0x80.. => verdict.with("a letter that is not ASCII"),
                other => verdict.with("`").with_byte(other).with("`"),
            }
            .with(ALLOWED);
        }
        index += 1;
    }
    Verdict::HOLDS
}

const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'#'
                | b'$'
                | b'%'
                | b'&'
                | b'\''
                | b'*'
                | b'+'
                | b'-'
                | b'.'
                | b'^'
                | b'_'
                | b'`'
                | b'|'
                | b'~'
        )
}

/// A media type is two tokens around a slash, and perhaps parameters after a semicolon.
#[must_use]
pub const fn media_type(text: &str) -> Verdict {
    let bytes = text.as_bytes();
    let mut index = 0;
    let mut slash = 0;
    while index < bytes.len() && bytes[index] != b';' {
        let byte = bytes[index];
        if byte == b'/' && slash == 0 && index > 0 {
            slash = index;
        } else if !(is_token(byte) || byte == b' ' && trailing_space(bytes, index)) {
            slash = 0;
            break;
        }
        index += 1;
    }
    if slash == 0 || slash + 1 >= index {
        return Verdict::wrong(&["media type `", text, "` is not of the form `text/markdown`"]);
    }
    Verdict::HOLDS
}

/// Whether only spaces follow before the parameters.
const fn trailing_space(bytes: &[u8], mut index: usize) -> bool {
    while index < bytes.len() && bytes[index] == b' ' {
        index += 1;
    }
    index < bytes.len() && bytes[index] == b';'
}

/// A time is an ISO 8601 date, `2026-07-28`, or date and time, `2026-07-28T12:00:00Z`.
#[must_use]
pub const fn timestamp(text: &str) -> Verdict {
    let bytes = text.as_bytes();
    let date = matches_digits(bytes, 0, b"0000-00-00");
    let whole = match bytes.len() {
        10 => true,
        17.. => bytes[10] == b'T' && matches_digits(bytes, 11, b"00:00") && ends_with_zone(bytes),
        _ => false,
    };
    if date && whole {
        return Verdict::HOLDS;
    }
    Verdict::wrong(&[
        "`",
        text,
        "` is not an ISO 8601 time such as `2026-07-28T12:00:00Z`",
    ])
}

const fn ends_with_zone(bytes: &[u8]) -> bool {
    let length = bytes.len();
    bytes[length - 1] == b'Z'
        || (matches!(bytes[length - 6], b'+' | b'-') && matches_digits(bytes, length - 5, b"00:00"))
}

/// Whether the form stands at `start`, each `0` in it being any digit.
const fn matches_digits(bytes: &[u8], start: usize, form: &[u8]) -> bool {
    if bytes.len() < start + form.len() {
        return false;
    }
    let mut index = 0;
    while index < form.len() {
        let byte = bytes[start + index];
        let fits = if form[index] == b'0' {
            byte.is_ascii_digit()
        } else {
            byte == form[index]
        };
        if !fits {
            return false;
        }
        index += 1;
    }
    true
}

/// An address starts with a scheme and a colon, and has no spaces, control characters or braces.
#[must_use]
pub const fn uri(text: &str) -> Verdict {
    if !has_scheme(text.as_bytes()) {
        return no_scheme(text);
    }
    let bytes = text.as_bytes();
    let mut index = 0;
    while index < bytes.len() {
        match bytes[index] {
            b'{' | b'}' => {
                return Verdict::wrong(&[
                    "URI `",
                    text,
                    "` has a variable, so it names a family: use `resource_template`",
                ]);
            }
            b'%' if !encodes(bytes, index) => return stray_percent("URI `", text),
            byte if is_forbidden(byte) => return forbidden("URI `", text, byte),
            _ => index += 1,
        }
    }
    Verdict::HOLDS
}

const fn no_scheme(text: &str) -> Verdict {
    Verdict::wrong(&[
        "URI `",
        text,
        "` has no scheme; write one, as in `notes:///all`",
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

/// What neither RFC 3986 nor RFC 6570 allows.
const fn is_forbidden(byte: u8) -> bool {
    matches!(
        byte,
        0..=b' ' | 0x7F | b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'|'
    )
}

const fn forbidden(what: &str, text: &str, byte: u8) -> Verdict {
    let verdict = Verdict::wrong(&[what, text, "` contains "]);
    match byte {
        b' ' => verdict.with("a space; write `%20`"),
        0..=0x1F | 0x7F => verdict.with("a control character"),
        other => verdict
            .with("`")
            .with_byte(other)
            .with("`; percent-encode it"),
    }
}

/// Whether a percent sign is followed by two hexadecimal digits.
const fn encodes(bytes: &[u8], index: usize) -> bool {
    index + 2 < bytes.len()
        && bytes[index + 1].is_ascii_hexdigit()
        && bytes[index + 2].is_ascii_hexdigit()
}

const fn stray_percent(what: &str, text: &str) -> Verdict {
    Verdict::wrong(&[what, text, "` has a `%` that encodes nothing; write `%25`"])
}

/// The form of a template, without its variables' parameters: RFC 6570 up to level 3, and explode.
#[must_use]
pub const fn template_syntax(template: &str) -> Verdict {
    const WHAT: &str = "URI template `";
    let bytes = template.as_bytes();
    if !has_scheme(bytes) {
        return no_scheme(template);
    }
    let mut variables = 0;
    let mut index = 0;
    while index < bytes.len() {
        match bytes[index] {
            b'{' => {
                let end = find(bytes, index, b'}');
                if end == bytes.len() {
                    return Verdict::wrong(&[WHAT, template, "` has a `{` without `}`"]);
                }
                let verdict = expression(template, index + 1, end);
                if !verdict.holds {
                    return verdict;
                }
                variables += 1;
                index = end + 1;
            }
            b'}' => return Verdict::wrong(&[WHAT, template, "` has a `}` without `{`"]),
            b'%' if !encodes(bytes, index) => return stray_percent(WHAT, template),
            // An address may hold an apostrophe, a template may not.
            byte if is_forbidden(byte) || byte == b'\'' => {
                return forbidden(WHAT, template, byte);
            }
            _ => index += 1,
        }
    }
    if variables == 0 {
        return Verdict::wrong(&[
            WHAT,
            template,
            "` has no variable, so it names one resource: use `resource`",
        ]);
    }
    let mut variables = Variables::new(template);
    while let Some(variable) = variables.next() {
        if variable.count_in(template) > 1 {
            return Verdict::wrong(&[WHAT, template, "` names a variable twice: `"])
                .with(variable.name(template))
                .with("`");
        }
    }
    Verdict::HOLDS
}

/// What stands between braces: an operator, and variables separated by commas.
const fn expression(template: &str, start: usize, end: usize) -> Verdict {
    const WHAT: &str = "URI template `";
    let bytes = template.as_bytes();
    let mut index = start;
    if index < end {
        match bytes[index] {
            b'+' | b'#' | b'.' | b'/' | b';' | b'?' | b'&' => index += 1,
            b'=' | b',' | b'!' | b'@' | b'|' => {
                return Verdict::wrong(&[WHAT, template, "` uses the operator `"])
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
                return Verdict::wrong(&[WHAT, template, "` has braces without a variable name"]);
            }
            b',' if index == end => return Verdict::HOLDS,
            b',' => name = index + 1,
            b'*' if index > name && (index + 1 == end || bytes[index + 1] == b',') => {}
            b':' if index > name => {
                return Verdict::wrong(&[
                    WHAT,
                    template,
                    "` cuts a variable short with `:`, which cannot be undone when reading; leave it out",
                ]);
            }
            byte if is_plain(byte) => {}
            b'.' if index > name && index + 1 < end && is_plain(bytes[index + 1]) => {}
            byte => {
                return Verdict::wrong(&[WHAT, template, "` has a variable name that contains "])
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

/// Whether a byte may stand anywhere in the name of a variable.
const fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The character that starts at a byte; empty inside of one.
const fn character_at(text: &str, index: usize) -> &str {
    slice(
        text,
        index,
        index + character_length(text.as_bytes()[index]),
    )
}

const fn slice(text: &str, start: usize, end: usize) -> &str {
    let bytes = text.as_bytes();
    if end > bytes.len() || start > end {
        return "";
    }
    match str::from_utf8(bytes.split_at(end).0.split_at(start).1) {
        Ok(text) => text,
        Err(_) => "",
    }
}

const fn find(bytes: &[u8], mut index: usize, wanted: u8) -> usize {
    while index < bytes.len() && bytes[index] != wanted {
        index += 1;
    }
    index
}

/// Where the name of a variable stands in its template.
#[derive(Clone, Copy)]
struct Variable {
    start: usize,
    end: usize,
}

impl Variable {
    const fn name(self, template: &str) -> &str {
        slice(template, self.start, self.end)
    }

    const fn count_in(self, template: &str) -> usize {
        let mut count = 0;
        let mut variables = Variables::new(template);
        while let Some(other) = variables.next() {
            if same(other.name(template), self.name(template)) {
                count += 1;
            }
        }
        count
    }
}

/// The variables of a template whose form has been checked.
struct Variables<'a> {
    bytes: &'a [u8],
    index: usize,
    inside: bool,
}

impl<'a> Variables<'a> {
    const fn new(template: &'a str) -> Self {
        Self {
            bytes: template.as_bytes(),
            index: 0,
            inside: false,
        }
    }

    const fn next(&mut self) -> Option<Variable> {
        while self.index < self.bytes.len() {
            let byte = self.bytes[self.index];
            if !self.inside {
                self.inside = byte == b'{';
                self.index += 1;
            } else if is_name(byte) && !(byte == b'.' && self.bytes[self.index - 1] == b'{') {
                let start = self.index;
                while self.index < self.bytes.len() && is_name(self.bytes[self.index]) {
                    self.index += 1;
                }
                return Some(Variable {
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

const fn is_name(byte: u8) -> bool {
    is_plain(byte) || byte == b'.'
}

/// Whether a template has a variable of that name.
#[must_use]
pub const fn template_has_variable(template: &str, name: &str) -> bool {
    let mut variables = Variables::new(template);
    while let Some(variable) = variables.next() {
        if same(variable.name(template), name) {
            return true;
        }
    }
    false
}

/// The form of a template, and that each variable has a parameter.
#[must_use]
pub const fn template(template: &str, parameters: &[ParameterMeta]) -> Verdict {
    let verdict = template_syntax(template);
    if !verdict.holds {
        return verdict;
    }
    let mut variables = Variables::new(template);
    while let Some(variable) = variables.next() {
        let name = variable.name(template);
        if !has_argument(parameters, name) {
            return Verdict::wrong(&[
                "URI template variable `",
                name,
                "` has no parameter of that name; this function has ",
            ])
            .with_arguments(parameters);
        }
    }
    Verdict::HOLDS
}

/// An argument of a template is one of its variables.
#[must_use]
pub const fn template_parameter(template: &str, parameter: &ParameterMeta) -> Verdict {
    if parameter.injected
        || !template_syntax(template).holds
        || template_has_variable(template, parameter.name)
    {
        return Verdict::HOLDS;
    }
    let mut verdict = Verdict::wrong(&[
        "parameter `",
        parameter.name,
        "` is no variable of the URI template; it has ",
    ]);
    let mut variables = Variables::new(template);
    let mut first = true;
    while let Some(variable) = variables.next() {
        verdict = verdict
            .with(if first { "`" } else { ", `" })
            .with(variable.name(template))
            .with("`");
        first = false;
    }
    verdict
}

/// A resource has one address, so nothing can vary.
#[must_use]
pub const fn resource_parameter(parameter: &ParameterMeta) -> Verdict {
    if parameter.injected {
        return Verdict::HOLDS;
    }
    Verdict::wrong(&[
        "a resource has no arguments, but `",
        parameter.name,
        "` is one; make it a variable of a `resource_template`",
    ])
}

/// The first parameter of a completer comes from the client.
#[must_use]
pub const fn partial_text(parameter: &ParameterMeta) -> Verdict {
    if parameter.injected {
        return Verdict::wrong(&["a completer first takes the text typed so far: `partial: &str`"]);
    }
    Verdict::HOLDS
}

/// A prompt or template has an argument of that name.
#[must_use]
pub const fn completed_argument(
    kind: &str,
    function: &str,
    parameters: &[ParameterMeta],
    name: &str,
) -> Verdict {
    if has_argument(parameters, name) {
        return Verdict::HOLDS;
    }
    Verdict::wrong(&[
        kind,
        " `",
        function,
        "` has no argument `",
        name,
        "`; it has ",
    ])
    .with_arguments(parameters)
}

impl Verdict {
    /// With the names of all arguments.
    const fn with_arguments(mut self, parameters: &[ParameterMeta]) -> Self {
        let mut index = 0;
        let mut first = true;
        while index < parameters.len() {
            if !parameters[index].injected {
                self = self
                    .with(if first { "`" } else { ", `" })
                    .with(parameters[index].name)
                    .with("`");
                first = false;
            }
            index += 1;
        }
        if first {
            self.with("no arguments")
        } else {
            self
        }
    }
}

pub(crate) const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut index = 0;
    while index < a.len() {
        if a[index] != b[index] {
            return false;
        }
        index += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::{
        Verdict, header, media_type, template_has_variable, template_syntax, timestamp, tool_name,
        uri,
    };
    use crate::handler::template::UriTemplate;

    /// Each case is a text and a part of what is wrong with it; empty if nothing is.
    fn check(rule: fn(&str) -> Verdict, cases: &[(&str, &str)]) {
        for (text, expected) in cases {
            let verdict = rule(text);
            assert_eq!(
                verdict.holds(),
                expected.is_empty(),
                "{text}: {}",
                verdict.text()
            );
            assert!(
                verdict.text().contains(expected),
                "{text}: {}",
                verdict.text()
            );
            assert_eq!(verdict.into_result().is_ok(), expected.is_empty());
        }
    }

    #[test]
    fn tool_names_have_a_small_alphabet() {
        let long = "x".repeat(129);
        check(
            tool_name,
            &[
                ("add", ""),
                ("Notes.delete-2_x", ""),
                ("", "is empty"),
                ("add note", "contains a space"),
                ("add/note", "contains `/`"),
                ("größe", "not ASCII"),
                ("a\nb", "a control character"),
                (&long, "too long"),
            ],
        );
    }

    #[test]
    fn headers_are_tokens() {
        check(
            header,
            &[
                ("Region", ""),
                ("x-1", ""),
                ("", "is empty"),
                ("my region", "a space"),
                ("a:b", "`:`"),
                ("é", "not ASCII"),
            ],
        );
    }

    #[test]
    fn media_types_have_two_halves() {
        check(
            media_type,
            &[
                ("text/markdown", ""),
                ("text/plain; charset=utf-8", ""),
                ("text/plain ;charset=utf-8", ""),
                ("application/vnd.api+json", ""),
                ("", "is not of the form"),
                ("markdown", "is not of the form"),
                ("/markdown", "is not of the form"),
                ("text/", "is not of the form"),
                ("text/a/b", "is not of the form"),
                ("text / plain", "is not of the form"),
            ],
        );
    }

    #[test]
    fn times_are_iso_8601() {
        check(
            timestamp,
            &[
                ("2026-07-28", ""),
                ("2026-07-28T12:00:00Z", ""),
                ("2026-07-28T12:00Z", ""),
                ("2026-07-28T12:00:00.5+02:00", ""),
                ("yesterday", "is not"),
                ("2026-7-28", "is not"),
                ("2026-07-28 12:00:00Z", "is not"),
                ("2026-07-28T12:00:00", "is not"),
            ],
        );
    }

    #[test]
    fn addresses_have_a_scheme() {
        check(
            uri,
            &[
                ("config://app", ""),
                ("urn:x", ""),
                ("app", "has no scheme"),
                ("/app", "has no scheme"),
                ("1a:x", "has no scheme"),
                ("notes:///{id}", "use `resource_template`"),
                ("a:b c", "`%20`"),
                ("a:b%20c", ""),
                ("a:100%", "`%25`"),
                ("a:%2", "`%25`"),
                ("a:%zz", "`%25`"),
            ],
        );
    }

    #[test]
    fn templates_follow_rfc_6570() {
        check(
            template_syntax,
            &[
                ("notes:///{id}", ""),
                ("notes:///{+path}", ""),
                ("x:{a,b}{/c*}{?d,e}{&f}{;g}{.h}{#i}", ""),
                ("notes:///{a.b}", ""),
                ("{scheme}:x", "has no scheme"),
                ("notes:///id", "has no variable"),
                ("notes:///{id", "without `}`"),
                ("notes:///id}", "without `{`"),
                ("notes:///{}", "without a variable name"),
                ("notes:///{a,}", "without a variable name"),
                ("notes:///{+}", "without a variable name"),
                ("notes:///{id:3}", "cuts a variable short"),
                ("notes:///{=id}", "operator `=`"),
                ("notes:///{a b}", "contains a space"),
                ("notes:///{a-b}", "contains `-`"),
                ("notes:///{ä}", "contains `ä`"),
                ("notes:///{a*b}", "contains `*`"),
                ("notes:///{a%20b}", "contains `%`"),
                ("notes:///{a..b}", "contains `.`"),
                ("notes:///{a.}", "contains `.`"),
                ("notes:///{a{b}", "contains `{`"),
                ("notes:///{id}/{id}", "names a variable twice: `id`"),
                ("notes:// /{id}", "a space"),
                ("notes:///100%/{id}", "`%25`"),
                ("notes:///it's/{id}", "contains `'`"),
            ],
        );
    }

    #[test]
    fn what_the_rule_lets_through_can_be_matched() {
        let templates = [
            "notes:///{id}",
            "notes:///{+path}",
            "x:{a,b}{/c*}{?d,e}{&f}{;g}{.h}{#i}",
            "notes:///{a.b}",
        ];
        for template in templates {
            assert!(template_syntax(template).holds(), "{template}");
            if let Err(problem) = UriTemplate::parse(template) {
                panic!("{template}: {problem}");
            }
        }
    }

    #[test]
    fn variables_are_found_in_every_operator() {
        let template = "x:{a,b*}{/c*}{?d,e}{.h}";
        for name in ["a", "b", "c", "d", "e", "h"] {
            assert!(template_has_variable(template, name), "{name}");
        }
        for name in ["x", "", "b*", ".h", "f"] {
            assert!(!template_has_variable(template, name), "{name}");
        }
    }
}
