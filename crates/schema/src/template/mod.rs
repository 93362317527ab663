//! Matches URIs against URI templates (RFC 6570). Matching is the inverse of expansion.
//!
//! A template is parsed into literals and expressions. A URI is matched in one pass over the template: an expression
//! ends at the first character that its values cannot contain, or where the following literal begins, and is never
//! retried. Without backtracking, the amount of work is bounded by the length of the URI times the length of the
//! template.
//!
//! Literals and URIs are compared in their [normal form](normal_uri).
//!
//! Levels 1 to 3 and the explode modifier (`*`) are supported. [`template_syntax`] validates the syntax. Values are
//! percent-decoded exactly once, and the result must be valid UTF-8. A value that contains NUL, has a `..` segment, or
//! begins with `/`, `\` or a drive letter does not match any expression, so handlers that read files do not need to
//! check for such values. The only exceptions are variables that accept any path.
//!
//! Specification: RFC 6570.

mod expression;
mod parse;
mod percent;
#[cfg(test)]
mod tests;

use crate::rules::template_syntax;
use parse::parse_template;
pub use percent::{decode, normal_uri, percent_encode, write_percent_encoded};

/// A parsed URI template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UriTemplate {
    parts: Vec<TemplatePart>,
    variables: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum TemplatePart {
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
    /// Set if the parameter is a list, whose values are then kept separate in a JSON array.
    list: Option<ExplodedList>,
    /// `true` if the variable's values may escape a directory.
    any_path: bool,
}

/// Specifies how the values of an exploded variable are converted into a JSON array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExplodedList {
    /// `true` if each item is a string, even if its text is valid JSON of another type.
    pub of_text: bool,
    /// `true` if a URI without a value yields an empty list, because RFC 6570 expands an empty list to an empty string.
    pub required: bool,
}

/// An expression's operator, which determines how values are written.
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
    /// Returns the character before the first value, and the separator between values.
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

    /// Returns `true` if values are written as `name=value`.
    fn is_named(self) -> bool {
        matches!(self, Self::Parameters | Self::Query | Self::Continuation)
    }

    /// Returns `true` if reserved characters are not encoded.
    fn keeps_reserved(self) -> bool {
        matches!(self, Self::Reserved | Self::Fragment)
    }
}

/// A template's specificity. Templates that determine more of a URI are tried earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Specificity {
    literal: usize,
    fewer_greedy: std::cmp::Reverse<usize>,
    fewer_variables: std::cmp::Reverse<usize>,
}

impl UriTemplate {
    /// Parses a template.
    ///
    /// # Errors
    ///
    /// Returns the reason if the syntax is invalid.
    pub fn parse(template: &str) -> Result<Self, String> {
        template_syntax(template).into_result()?;
        let parts = parse_template(&normal_uri(template));
        let variables = parts
            .iter()
            .filter_map(|part| match part {
                TemplatePart::Literal(_) => None,
                TemplatePart::Expression(expression) => Some(&expression.variables),
            })
            .flatten()
            .map(|variable| variable.name.clone())
            .collect();
        Ok(Self { parts, variables })
    }

    /// Returns the names of the variables, in order.
    #[must_use]
    pub fn variables(&self) -> &[String] {
        &self.variables
    }

    /// Returns `true` if a variable takes any number of values, as in `{x*}`.
    #[must_use]
    pub fn explodes(&self, name: &str) -> bool {
        self.all_variables()
            .any(|variable| variable.name == name && variable.explode)
    }

    /// Makes [`matches`](Self::matches) return the values of an exploded variable as the text of a JSON array.
    pub fn keep_apart(&mut self, name: &str, list: ExplodedList) {
        for part in &mut self.parts {
            if let TemplatePart::Expression(expression) = part {
                for variable in &mut expression.variables {
                    if variable.explode && variable.name == name {
                        variable.list = Some(list);
                    }
                }
            }
        }
    }

    /// Makes a variable accept values that would escape a directory. Returns `false` if the template does not contain
    /// the variable.
    pub fn take_any_path(&mut self, name: &str) -> bool {
        let mut found = false;
        for part in &mut self.parts {
            if let TemplatePart::Expression(expression) = part {
                for variable in &mut expression.variables {
                    if variable.name == name {
                        variable.any_path = true;
                        found = true;
                    }
                }
            }
        }
        found
    }

    fn all_variables(&self) -> impl Iterator<Item = &Variable> {
        self.parts
            .iter()
            .filter_map(|part| match part {
                TemplatePart::Literal(_) => None,
                TemplatePart::Expression(expression) => Some(&expression.variables),
            })
            .flatten()
    }

    /// Returns the specificity. Templates with greater specificity are tried first.
    #[must_use]
    pub fn specificity(&self) -> Specificity {
        let literal = self.parts.iter().map(|part| match part {
            TemplatePart::Literal(text) => text.len(),
            TemplatePart::Expression(_) => 0,
        });
        let greedy = self.parts.iter().filter(
            |part| matches!(part, TemplatePart::Expression(expression) if expression.is_greedy()),
        );
        Specificity {
            literal: literal.sum(),
            fewer_greedy: std::cmp::Reverse(greedy.count()),
            fewer_variables: std::cmp::Reverse(self.variables.len()),
        }
    }

    /// Returns the variable values for which the template expands to this URI, which must be in its
    /// [normal form](normal_uri), or `None` if the URI does not match. Variables that are absent from the URI are also absent from the list.
    #[must_use]
    pub fn matches(&self, uri: &str) -> Option<Vec<(&str, String)>> {
        let mut found = Vec::with_capacity(self.variables.len());
        let mut rest = uri;
        let mut parts = self.parts.as_slice();
        while let [part, following @ ..] = parts {
            parts = following;
            match part {
                TemplatePart::Literal(text) => rest = rest.strip_prefix(text.as_str())?,
                TemplatePart::Expression(expression) => {
                    let taken = expression.match_length(rest, following)?;
                    let (text, after) = rest.split_at_checked(taken)?;
                    expression.match_text(text, &mut found)?;
                    rest = after;
                }
            }
        }
        if !rest.is_empty() {
            return None;
        }
        for variable in self.all_variables() {
            if variable.list.is_some_and(|list| list.required)
                && !found.iter().any(|(name, _)| *name == variable.name)
            {
                found.push((&variable.name, "[]".to_owned()));
            }
        }
        Some(found)
    }

    /// Expands the template with the given values. This is the inverse of [`matches`](Self::matches), and tests check
    /// the two against each other. A variable without a value is omitted. The value of an exploded variable is split at
    /// the separator of its operator.
    pub fn expand<'v>(&self, value: impl Fn(&str) -> Option<&'v str>) -> String {
        let mut out = String::new();
        for part in &self.parts {
            match part {
                TemplatePart::Literal(text) => out.push_str(text),
                TemplatePart::Expression(expression) => {
                    expression.write_expansion(&value, &mut out);
                }
            }
        }
        out
    }
}
