//! RFC 6570 templates, matched in reverse.
//!
//! A template is read into literals and expressions. An address is matched in one pass over the template: an expression
//! ends at the first character its values cannot hold, or where the literal after it begins, and is never tried again.
//! Nothing is backtracked over, so the work is bounded by the length of the address times that of the template.
//!
//! Levels 1 to 3 and explode (`*`) are understood; the prefix modifier (`:n`) is refused, because an address that was cut
//! cannot be matched. Values are percent-decoded exactly once. A value that holds NUL, is not UTF-8 or, outside a query,
//! has a segment `..` does not match: nothing that reads files should have to think of it.
//!
//! Specification: RFC 6570.

use std::fmt::Write as _;

/// A template that has been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UriTemplate {
    parts: Vec<Part>,
    variables: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Literal(String),
    Expression(Expression),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Expression {
    operator: Operator,
    variables: Vec<Variable>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Variable {
    name: String,
    explode: bool,
}

/// How an expression writes its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    /// `{x}`
    Simple,
    /// `{+x}`
    Reserved,
    /// `{#x}`
    Fragment,
    /// `{.x}`
    Label,
    /// `{/x}`
    Path,
    /// `{;x}`
    Parameters,
    /// `{?x}`
    Query,
    /// `{&x}`
    Continuation,
}

impl Operator {
    /// What stands before the first value, and between values.
    fn marks(self) -> (Option<char>, char) {
        match self {
            Self::Simple | Self::Reserved => (None, ','),
            Self::Fragment => (Some('#'), ','),
            Self::Label => (Some('.'), '.'),
            Self::Path => (Some('/'), '/'),
            Self::Parameters => (Some(';'), ';'),
            Self::Query => (Some('?'), '&'),
            Self::Continuation => (Some('&'), '&'),
        }
    }

    /// Whether values are written as `name=value`.
    fn is_named(self) -> bool {
        matches!(self, Self::Parameters | Self::Query | Self::Continuation)
    }

    /// Whether reserved characters stand as they are.
    fn keeps_reserved(self) -> bool {
        matches!(self, Self::Reserved | Self::Fragment)
    }
}

/// How precise a template is: the more of an address it fixes, the earlier it is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Specificity {
    literal: usize,
    fewer_greedy: std::cmp::Reverse<usize>,
    fewer_variables: std::cmp::Reverse<usize>,
}

impl UriTemplate {
    /// Reads a template.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub(crate) fn parse(template: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut variables: Vec<String> = Vec::new();
        let mut rest = template;
        while !rest.is_empty() {
            let Some((literal, after)) = rest.split_once('{') else {
                literal_part(rest, &mut parts)?;
                break;
            };
            literal_part(literal, &mut parts)?;
            let Some((inner, after)) = after.split_once('}') else {
                return Err("an expression is not closed; add `}`".to_owned());
            };
            let expression = expression(inner)?;
            for variable in &expression.variables {
                if variables.contains(&variable.name) {
                    return Err(format!("variable `{}` is used twice", variable.name));
                }
                variables.push(variable.name.clone());
            }
            parts.push(Part::Expression(expression));
            rest = after;
        }
        if template.is_empty() {
            return Err("the template is empty".to_owned());
        }
        Ok(Self { parts, variables })
    }

    /// The names of its variables, in order.
    pub(crate) fn variables(&self) -> &[String] {
        &self.variables
    }

    /// How precise it is; greater comes first.
    pub(crate) fn specificity(&self) -> Specificity {
        let literal = self.parts.iter().map(|part| match part {
            Part::Literal(text) => text.len(),
            Part::Expression(_) => 0,
        });
        let greedy = self
            .parts
            .iter()
            .filter(|part| matches!(part, Part::Expression(expression) if expression.is_greedy()));
        Specificity {
            literal: literal.sum(),
            fewer_greedy: std::cmp::Reverse(greedy.count()),
            fewer_variables: std::cmp::Reverse(self.variables.len()),
        }
    }

    /// The values with which the template gives this address; `None` if there are none. Variables that are left out of
    /// the address are left out of the list.
    pub(crate) fn matches(&self, uri: &str) -> Option<Vec<(&str, String)>> {
        let mut found = Vec::with_capacity(self.variables.len());
        let mut rest = uri;
        let mut parts = self.parts.as_slice();
        while let [part, following @ ..] = parts {
            parts = following;
            match part {
                Part::Literal(text) => rest = rest.strip_prefix(text.as_str())?,
                Part::Expression(expression) => {
                    let taken = expression.extent(rest, following)?;
                    let (text, after) = rest.split_at_checked(taken)?;
                    expression.read(text, &mut found)?;
                    rest = after;
                }
            }
        }
        rest.is_empty().then_some(found)
    }

    /// The address these values give. A variable without a value is left out; an exploded one takes its value apart at
    /// the separator of its operator.
    #[cfg_attr(
        not(test),
        expect(
            dead_code,
            reason = "the inverse, which the tests hold `matches` against"
        )
    )]
    pub(crate) fn expand<'v>(&self, value: impl Fn(&str) -> Option<&'v str>) -> String {
        let mut out = String::new();
        for part in &self.parts {
            match part {
                Part::Literal(text) => out.push_str(text),
                Part::Expression(expression) => expression.write(&value, &mut out),
            }
        }
        out
    }
}

fn literal_part(text: &str, parts: &mut Vec<Part>) -> Result<(), String> {
    if text.contains('}') {
        return Err("`}` stands without `{`".to_owned());
    }
    let bad = |character: char| {
        character.is_control()
            || matches!(
                character,
                ' ' | '"' | '\'' | '<' | '>' | '\\' | '^' | '`' | '|'
            )
    };
    if let Some(character) = text.chars().find(|character| bad(*character)) {
        return Err(format!(
            "{character:?} cannot stand in a template; percent-encode it"
        ));
    }
    if decode(text).is_none() {
        return Err(format!(
            "`{text}` holds a percent sign that encodes nothing"
        ));
    }
    if !text.is_empty() {
        parts.push(Part::Literal(text.to_owned()));
    }
    Ok(())
}

fn expression(inner: &str) -> Result<Expression, String> {
    let operator = match inner.chars().next() {
        Some('+') => Operator::Reserved,
        Some('#') => Operator::Fragment,
        Some('.') => Operator::Label,
        Some('/') => Operator::Path,
        Some(';') => Operator::Parameters,
        Some('?') => Operator::Query,
        Some('&') => Operator::Continuation,
        Some(reserved @ ('=' | ',' | '!' | '@' | '|')) => {
            return Err(format!("operator `{reserved}` is reserved by RFC 6570"));
        }
        Some(_) => Operator::Simple,
        None => {
            return Err("an expression is empty; write a variable between `{` and `}`".to_owned());
        }
    };
    let list = if operator == Operator::Simple {
        inner
    } else {
        inner.get(1..).unwrap_or("")
    };
    let mut variables = Vec::new();
    for text in list.split(',') {
        if let Some((name, _)) = text.split_once(':') {
            return Err(format!(
                "the prefix modifier of `{name}` is not supported; an address that was cut cannot be matched"
            ));
        }
        let (name, explode) = match text.strip_suffix('*') {
            Some(name) => (name, true),
            None => (text, false),
        };
        let allowed =
            |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '.');
        if name.is_empty()
            || !name.chars().all(allowed)
            || name.starts_with('.')
            || name.ends_with('.')
            || name.contains("..")
        {
            return Err(format!(
                "`{name}` is not the name of a variable; use letters, digits, `_` and `.` between them"
            ));
        }
        variables.push(Variable {
            name: name.to_owned(),
            explode,
        });
    }
    Ok(Expression {
        operator,
        variables,
    })
}

impl Expression {
    fn is_greedy(&self) -> bool {
        self.operator.keeps_reserved() || self.variables.iter().any(|variable| variable.explode)
    }

    /// Whether a character can belong to what this expression wrote.
    fn holds(&self, byte: u8, last: bool) -> bool {
        if byte.is_ascii_alphanumeric()
            || matches!(byte, b'-' | b'_' | b'~' | b'.' | b'%')
            || !byte.is_ascii()
        {
            return true;
        }
        let (_, separator) = self.operator.marks();
        if self.operator.keeps_reserved() {
            return match byte {
                // Nothing after it can begin with these.
                b'?' | b'#' => last || self.operator == Operator::Fragment,
                _ => byte.is_ascii_graphic(),
            };
        }
        let several =
            self.variables.len() > 1 || self.variables.iter().any(|variable| variable.explode);
        match byte {
            b'=' => self.operator.is_named(),
            b'?' | b'#' => false,
            // Clients write these as they are in places where RFC 6570 would encode them.
            b'@' | b':' | b'!' | b'$' | b'\'' | b'(' | b')' | b'*' | b'+' => true,
            b',' => self.operator != Operator::Simple || several,
            // A query may hold what would end a path, and parameters that nobody asked for.
            b'/' if matches!(self.operator, Operator::Query | Operator::Continuation) => true,
            _ => (several || self.operator.is_named()) && char::from(byte) == separator,
        }
    }

    /// How many bytes of the address belong to this expression: as far as its characters go, but no further than the
    /// last place where what follows in the template can still begin.
    fn extent(&self, rest: &str, following: &[Part]) -> Option<usize> {
        let next = following.first();
        let (first, separator) = self.operator.marks();
        let start = match first {
            Some(mark) => match rest.strip_prefix(mark) {
                Some(_) => mark.len_utf8(),
                // All its values were left out.
                None => return Some(0),
            },
            None => 0,
        };
        let body = rest.get(start..)?;
        let mut length = body
            .bytes()
            .position(|byte| !self.holds(byte, next.is_none()))
            .unwrap_or(body.len());
        if matches!(self.operator, Operator::Path | Operator::Label) {
            // One separator per variable, unless one of them takes any number.
            if !self.variables.iter().any(|variable| variable.explode) {
                let within = body.get(..length)?;
                if let Some((end, _)) = within
                    .match_indices(separator)
                    .nth(self.variables.len().saturating_sub(1))
                {
                    length = end;
                }
            }
        }
        if let [Part::Literal(text)] = following {
            // It ends the address, wherever else it may occur.
            let before = body.strip_suffix(text.as_str())?.len();
            return (before <= length).then_some(start.saturating_add(before));
        }
        if let Some(Part::Literal(text)) = next {
            let window = body.len().min(length.saturating_add(text.len()));
            let within = floor(body, window);
            length = if self.is_greedy() {
                within.rfind(text.as_str())?
            } else {
                within.find(text.as_str())?
            };
        } else if let Some(Part::Expression(next)) = next {
            let (mark, _) = next.operator.marks();
            if let Some(mark) = mark
                && let Some(end) = body.get(..length)?.find(mark)
            {
                length = end;
            }
        }
        Some(start.saturating_add(length))
    }

    /// Takes the values out of what the expression wrote.
    fn read<'t>(&'t self, text: &str, found: &mut Vec<(&'t str, String)>) -> Option<()> {
        let (first, separator) = self.operator.marks();
        let body = match first {
            Some(mark) => match text.strip_prefix(mark) {
                Some(body) => body,
                None => return Some(()),
            },
            None => text,
        };
        if self.operator.is_named() {
            return self.read_named(body, separator, found);
        }
        let last = self.variables.len().saturating_sub(1);
        let mut rest = Some(body);
        for (index, variable) in self.variables.iter().enumerate() {
            let Some(current) = rest else { break };
            let takes_all = variable.explode || (index == last && self.operator.keeps_reserved());
            let value = match current.split_once(separator) {
                Some((value, after)) if !takes_all => {
                    rest = Some(after);
                    value
                }
                _ => {
                    rest = None;
                    current
                }
            };
            if value.is_empty() && self.operator == Operator::Simple && self.variables.len() == 1 {
                return None;
            }
            found.push((&variable.name, self.value(value)?));
        }
        // Something is left that no variable takes.
        rest.is_none_or(str::is_empty).then_some(())
    }

    fn read_named<'t>(
        &'t self,
        body: &str,
        separator: char,
        found: &mut Vec<(&'t str, String)>,
    ) -> Option<()> {
        for pair in body.split(separator).filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decode(name)?;
            // Parameters nobody asked for are left alone, as servers do; of a repeated one the first counts.
            let Some(variable) = self.variables.iter().find(|variable| variable.name == name)
            else {
                continue;
            };
            if found.iter().any(|(name, _)| *name == variable.name) {
                continue;
            }
            found.push((&variable.name, self.value(value)?));
        }
        Some(())
    }

    fn value(&self, text: &str) -> Option<String> {
        let value = decode(text)?;
        if value.contains('\0') {
            return None;
        }
        let in_path = !self.operator.is_named() && self.operator != Operator::Fragment;
        if in_path && value.split(['/', '\\']).any(|segment| segment == "..") {
            return None;
        }
        Some(value)
    }

    fn write<'v>(&self, value: &impl Fn(&str) -> Option<&'v str>, out: &mut String) {
        let (first, separator) = self.operator.marks();
        let mut begun = false;
        for variable in &self.variables {
            let Some(value) = value(&variable.name) else {
                continue;
            };
            if begun {
                out.push(separator);
            } else {
                out.extend(first);
                begun = true;
            }
            if self.operator.is_named() {
                out.push_str(&variable.name);
                if !value.is_empty() || self.operator != Operator::Parameters {
                    out.push('=');
                }
                encode(value, false, out);
            } else if variable.explode {
                for (index, piece) in value.split(separator).enumerate() {
                    if index > 0 {
                        out.push(separator);
                    }
                    encode(piece, self.operator.keeps_reserved(), out);
                }
            } else {
                encode(value, self.operator.keeps_reserved(), out);
            }
        }
    }
}

/// The first `end` bytes, or a little less if a character would be cut.
fn floor(text: &str, end: usize) -> &str {
    let mut end = end.min(text.len());
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    text.get(..end).unwrap_or(text)
}

/// Decodes percent escapes once; `None` if one is not valid or the outcome is not UTF-8.
pub(crate) fn decode(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = text.bytes();
    let mut out = Vec::with_capacity(text.len());
    let digit = |byte: Option<u8>| {
        byte.and_then(|byte| char::from(byte).to_digit(16))
            .and_then(|digit| u8::try_from(digit).ok())
    };
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let (high, low) = (digit(bytes.next())?, digit(bytes.next())?);
            out.push(high << 4 | low);
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).ok()
}

fn encode(text: &str, keep_reserved: bool, out: &mut String) {
    for byte in text.bytes() {
        let reserved = b":/?#[]@!$&'()*+,;=";
        if byte.is_ascii_alphanumeric()
            || matches!(byte, b'-' | b'_' | b'~' | b'.')
            || (keep_reserved && reserved.contains(&byte))
        {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests;
