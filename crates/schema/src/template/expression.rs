//! Matches a single expression against a URI: finds the text that the expression covers and extracts the values. Also
//! expands expressions.

use serde_json::Value;
use serde_json::value::RawValue;

use super::percent::{decode, write_percent_encoded};
use super::{ExplodedList, Expression, Operator, TemplatePart, Variable};

impl Expression {
    pub(super) fn is_greedy(&self) -> bool {
        self.operator.keeps_reserved() || self.variables.iter().any(|variable| variable.explode)
    }

    /// Returns `true` if an expansion of this expression can contain the byte.
    fn can_contain(&self, byte: u8, last: bool) -> bool {
        if byte.is_ascii_alphanumeric()
            || matches!(byte, b'-' | b'_' | b'~' | b'.' | b'%')
            || !byte.is_ascii()
        {
            return true;
        }
        let (_, separator) = self.operator.marks();
        if self.operator.keeps_reserved() {
            return match byte {
                // These characters may start a later part, unless this expression is the last part.
                b'?' | b'#' => last || self.operator == Operator::Fragment,
                _ => byte.is_ascii_graphic(),
            };
        }
        let several =
            self.variables.len() > 1 || self.variables.iter().any(|variable| variable.explode);
        match byte {
            b'=' => self.operator.is_named(),
            b'?' | b'#' => false,
            // Clients leave these characters unencoded where RFC 6570 would encode them.
            b'@' | b':' | b'!' | b'$' | b'\'' | b'(' | b')' | b'*' | b'+' => true,
            b',' => self.operator != Operator::Simple || several,
            // A query may contain characters that would end a path, and parameters that the template does not name.
            b'/' if matches!(self.operator, Operator::Query | Operator::Continuation) => true,
            _ => (several || self.operator.is_named()) && char::from(byte) == separator,
        }
    }

    /// Returns the number of bytes that this expression matches. The expression matches as many bytes as it can
    /// contain, up to the start of the next part of the template.
    pub(super) fn match_length(&self, rest: &str, following: &[TemplatePart]) -> Option<usize> {
        let next = following.first();
        let (first, separator) = self.operator.marks();
        let start = match first {
            Some(mark) => match rest.strip_prefix(mark) {
                Some(_) => mark.len_utf8(),
                // All of the expression's values were omitted.
                None => return Some(0),
            },
            None => 0,
        };
        let body = rest.get(start..)?;
        let mut length = body
            .bytes()
            .position(|byte| !self.can_contain(byte, next.is_none()))
            .unwrap_or(body.len());
        if matches!(self.operator, Operator::Path | Operator::Label) {
            // Each variable has one separator, unless it takes any number of values.
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
        if let [TemplatePart::Literal(text)] = following {
            // The last literal must match at the end of the URI, even if it also occurs earlier.
            let before = body.strip_suffix(text.as_str())?.len();
            return (before <= length).then_some(start.saturating_add(before));
        }
        if let Some(TemplatePart::Literal(text)) = next {
            let window = body.len().min(length.saturating_add(text.len()));
            let within = floor_char_boundary(body, window);
            length = if self.is_greedy() {
                within.rfind(text.as_str())?
            } else {
                within.find(text.as_str())?
            };
        } else if let Some(TemplatePart::Expression(next)) = next {
            let (mark, _) = next.operator.marks();
            if let Some(mark) = mark
                && let Some(end) = body.get(..length)?.find(mark)
            {
                length = end;
            }
        }
        Some(start.saturating_add(length))
    }

    /// Extracts the values from the text that the expression matched.
    pub(super) fn match_text<'t>(
        &'t self,
        text: &str,
        found: &mut Vec<(&'t str, String)>,
    ) -> Option<()> {
        let (first, separator) = self.operator.marks();
        let body = match first {
            Some(mark) => match text.strip_prefix(mark) {
                Some(body) => body,
                None => return Some(()),
            },
            None => text,
        };
        if self.operator.is_named() {
            return self.match_named_values(body, separator, found);
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
            let read = match variable.list {
                // If these values were joined again, the result would begin with a slash.
                Some(_) if separator == '/' && value.starts_with('/') && !variable.any_path => {
                    return None;
                }
                Some(kind) => variable.array_json(value.split(separator), kind)?,
                None => variable.percent_decoded_value(value)?,
            };
            found.push((&variable.name, read));
        }
        // The URI does not match if any text remains unassigned to a variable.
        rest.is_none_or(str::is_empty).then_some(())
    }

    fn match_named_values<'t>(
        &'t self,
        body: &str,
        separator: char,
        found: &mut Vec<(&'t str, String)>,
    ) -> Option<()> {
        let mut several = Vec::new();
        for pair in body.split(separator).filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decode(name)?;
            // Unknown parameters are ignored, as in HTTP servers. If a parameter is repeated, its first value is used
            // unless it is a list.
            let Some(variable) = self.variables.iter().find(|variable| variable.name == name)
            else {
                continue;
            };
            match variable.list {
                Some(_) => several.push((variable, value)),
                None if found.iter().any(|(name, _)| *name == variable.name) => {}
                None => found.push((&variable.name, variable.percent_decoded_value(value)?)),
            }
        }
        for variable in &self.variables {
            let mut values = several
                .iter()
                .filter(|(other, _)| other.name == variable.name)
                .map(|(_, value)| *value)
                .peekable();
            if let Some(list) = variable.list
                && values.peek().is_some()
            {
                found.push((&variable.name, variable.array_json(values, list)?));
            }
        }
        Some(())
    }

    pub(super) fn write_expansion<'v>(
        &self,
        value: &impl Fn(&str) -> Option<&'v str>,
        out: &mut String,
    ) {
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
                write_percent_encoded(value, false, out);
            } else if variable.explode {
                for (index, piece) in value.split(separator).enumerate() {
                    if index > 0 {
                        out.push(separator);
                    }
                    write_percent_encoded(piece, self.operator.keeps_reserved(), out);
                }
            } else {
                write_percent_encoded(value, self.operator.keeps_reserved(), out);
            }
        }
    }
}

impl Variable {
    /// Converts several values into the text of a JSON array.
    fn array_json<'v>(
        &self,
        values: impl Iterator<Item = &'v str>,
        list: ExplodedList,
    ) -> Option<String> {
        let mut out = String::from("[");
        for value in values {
            let value = self.percent_decoded_value(value)?;
            if out.len() > 1 {
                out.push(',');
            }
            if !list.of_text && serde_json::from_str::<&RawValue>(&value).is_ok() {
                out.push_str(&value);
            } else {
                out.push_str(&Value::from(value).to_string());
            }
        }
        out.push(']');
        Some(out)
    }

    fn percent_decoded_value(&self, text: &str) -> Option<String> {
        let value = decode(text)?;
        (self.any_path || stays_below_directory(&value)).then_some(value)
    }
}

/// Returns `true` if joining the value to a directory yields a path below that directory, on any operating system.
pub(super) fn stays_below_directory(value: &str) -> bool {
    let mut bytes = value.bytes();
    let has_drive =
        bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic()) && bytes.next() == Some(b':');
    !has_drive
        && !value.starts_with(['/', '\\'])
        && !value.contains('\0')
        && value.split(['/', '\\']).all(|segment| segment != "..")
}

/// Returns the first `end` bytes, or slightly fewer to end at a character boundary.
fn floor_char_boundary(text: &str, end: usize) -> &str {
    let mut end = end.min(text.len());
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    text.get(..end).unwrap_or(text)
}
