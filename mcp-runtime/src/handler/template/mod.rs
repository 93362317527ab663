//! RFC 6570 templates, matched in reverse.
//!
//! A template is read into literals and expressions. An address is matched in one pass over the template: an expression
//! ends at the first character its values cannot hold, or where the literal after it begins, and is never tried again.
//! Nothing is backtracked over, so the work is bounded by the length of the address times that of the template.
//!
//! Levels 1 to 3 and explode (`*`) are understood; what a template may look like is decided by
//! [`rules`](super::rules), which the macros apply too. Values are percent-decoded exactly once, and then have to be UTF-8. A value that
//! holds NUL, has a segment `..`, or begins with `/`, `\` or a drive letter does not match, in no kind of expression: code that reads
//! files should not have to think of it. Variables that take any path are the exception.
//!
//! Specification: RFC 6570.

mod expression;
mod parse;
mod percent;
#[cfg(test)]
mod tests;

use crate::handler::rules;
use parse::parts;
pub use percent::percent_encode;
pub(crate) use percent::{decode, encode};

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
    /// Whether its values stay apart, because what they are for is a list.
    list: Option<List>,
    /// Whether its values may lead anywhere, rather than stay below a directory.
    any_path: bool,
}

/// How the values of an exploded variable become a JSON array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct List {
    /// Whether an item is always text, rather than the JSON it holds.
    pub(crate) of_text: bool,
    /// Whether there is an empty list where the address has no value: RFC 6570 writes nothing for it.
    pub(crate) required: bool,
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
        rules::template_syntax(template).into_result()?;
        let parts = parts(template);
        let variables = parts
            .iter()
            .filter_map(|part| match part {
                Part::Literal(_) => None,
                Part::Expression(expression) => Some(&expression.variables),
            })
            .flatten()
            .map(|variable| variable.name.clone())
            .collect();
        Ok(Self { parts, variables })
    }

    /// The names of its variables, in order.
    pub(crate) fn variables(&self) -> &[String] {
        &self.variables
    }

    /// Whether a variable takes any number of values: `{x*}`.
    pub(crate) fn explodes(&self, name: &str) -> bool {
        self.all_variables()
            .any(|variable| variable.name == name && variable.explode)
    }

    /// From now on the values of an exploded variable are found as the text of a JSON array.
    pub(crate) fn keep_apart(&mut self, name: &str, list: List) {
        for part in &mut self.parts {
            if let Part::Expression(expression) = part {
                for variable in &mut expression.variables {
                    if variable.explode && variable.name == name {
                        variable.list = Some(list);
                    }
                }
            }
        }
    }

    /// From now on a variable takes values that lead anywhere. Returns false if there is no such variable.
    pub(crate) fn take_any_path(&mut self, name: &str) -> bool {
        let mut found = false;
        for part in &mut self.parts {
            if let Part::Expression(expression) = part {
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
                Part::Literal(_) => None,
                Part::Expression(expression) => Some(&expression.variables),
            })
            .flatten()
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

    /// The address these values give. A variable without a value is left out; an exploded one takes its value apart at
    /// the separator of its operator.
    #[cfg_attr(
        not(any(test, fuzzing)),
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
