//! Completes URIs that match a server's templates, one variable at a time.

use mcp_schema::template::percent_encode;
use serde_json::{Map, Value, json};

use crate::context::Capability;
use crate::server::command_line::completions::candidates::Candidate;
use crate::server::command_line::completions::values::suggested;
use crate::server::command_line::outcome::CommandError;
use crate::server::command_line::session::CommandSession;

/// Returns the URIs that continue `typed`.
pub(super) async fn candidates(
    session: &CommandSession,
    typed: &str,
) -> Result<Vec<Candidate>, CommandError> {
    let mut found = Vec::new();
    for template in session.list(Capability::Templates).await? {
        let Some(text) = template["uriTemplate"].as_str() else {
            continue;
        };
        let about = template["description"].as_str().unwrap_or(text);
        match reached(text, typed) {
            None => {}
            Some(TypedPart::Literal(value)) => found.push(Candidate::new(value, about)),
            Some(TypedPart::Variable(place)) => {
                let reference = json!({"type": "ref/resource", "uri": text});
                let TypedVariable {
                    before,
                    name,
                    partial,
                    after,
                    earlier,
                } = place;
                let earlier = Value::Object(earlier);
                let values = suggested(session, reference, name, partial, earlier).await?;
                let values = values.iter().map(|value| {
                    Candidate::new(format!("{before}{}{after}", percent_encode(value)), about)
                });
                found.extend(values);
            }
        }
    }
    Ok(found)
}

/// The part of a template at which a URI that is being typed ends.
#[derive(Debug, PartialEq)]
enum TypedPart<'t> {
    /// The text up to the next variable: the URI can be completed only this far.
    Literal(String),
    Variable(TypedVariable<'t>),
}

/// A variable whose value is being typed.
#[derive(Debug, PartialEq)]
struct TypedVariable<'t> {
    /// The URI before the value.
    before: &'t str,
    name: &'t str,
    partial: &'t str,
    /// The literal after the value.
    after: &'t str,
    /// The preceding variables and their values.
    earlier: Map<String, Value>,
}

/// Finds the part of a template at which the URI ends. Only plain variables, such as `{id}`, can be completed.
fn reached<'t>(template: &'t str, typed: &'t str) -> Option<TypedPart<'t>> {
    let mut earlier = Map::new();
    let (mut template, mut rest) = (template, typed);
    loop {
        let (literal, variables) = template.split_once('{').unwrap_or((template, ""));
        let before = &typed[..typed.len() - rest.len()];
        let Some(value) = rest.strip_prefix(literal) else {
            let is_begun = literal.starts_with(rest);
            return is_begun.then(|| TypedPart::Literal(format!("{before}{literal}")));
        };
        let before = &typed[..typed.len() - value.len()];
        let (name, behind) = variables.split_once('}')?;
        if name.contains(|c: char| !c.is_alphanumeric() && c != '_') {
            return value
                .is_empty()
                .then(|| TypedPart::Literal(before.to_owned()));
        }
        let after = behind.split('{').next().unwrap_or_default();
        match value.find(after).filter(|_| !after.is_empty()) {
            Some(end) => {
                let (value, more) = value.split_at(end);
                earlier.insert(name.to_owned(), value.into());
                (template, rest) = (behind, more);
            }
            None => {
                return Some(TypedPart::Variable(TypedVariable {
                    before,
                    name,
                    partial: value,
                    after,
                    earlier,
                }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_ends_in_a_literal_or_in_a_variable() {
        let variable = |template: &str, typed: &str| match reached(template, typed) {
            Some(TypedPart::Variable(place)) => format!(
                "{}|{}|{}|{}|{}",
                place.before,
                place.name,
                place.partial,
                place.after,
                Value::Object(place.earlier)
            ),
            Some(TypedPart::Literal(text)) => text,
            None => "-".to_owned(),
        };
        for (template, typed, expected) in [
            ("memo:///{id}", "", "memo:///"),
            ("memo:///{id}", "mem", "memo:///"),
            ("memo:///{id}", "note", "-"),
            ("memo:///{id}", "memo:///", "memo:///|id|||{}"),
            ("memo:///{id}", "memo:///4", "memo:///|id|4||{}"),
            ("a://{x}/b/{y}", "a://1", "a://|x|1|/b/|{}"),
            ("a://{x}/b/{y}", "a://1/b/é", "a://1/b/|y|é||{\"x\":\"1\"}"),
            ("a://{x}/b", "a://1/b", "-"),
            ("a://{x}/b", "a://1/bc", "-"),
            ("a:{+path}", "a:", "a:"),
            ("a:{+path}", "a:b", "-"),
            ("a:{", "a:b", "-"),
            ("{x}", "é", "|x|é||{}"),
        ] {
            assert_eq!(variable(template, typed), expected, "{template} {typed}");
        }
    }
}
