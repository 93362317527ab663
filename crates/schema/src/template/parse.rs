//! Parser for templates whose syntax [`template_syntax`](super::template_syntax) has accepted.

use super::{Expression, Operator, TemplatePart, Variable};

/// Returns the literals and expressions of a template.
pub(super) fn parse_template(template: &str) -> Vec<TemplatePart> {
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some((literal, after)) = rest.split_once('{') {
        let (inner, after) = after.split_once('}').unwrap_or((after, ""));
        parts.extend(literal_part(literal));
        parts.push(TemplatePart::Expression(parse_expression(inner)));
        rest = after;
    }
    parts.extend(literal_part(rest));
    parts
}

fn literal_part(text: &str) -> Option<TemplatePart> {
    (!text.is_empty()).then(|| TemplatePart::Literal(text.to_owned()))
}

fn parse_expression(inner: &str) -> Expression {
    let operator = match inner.bytes().next() {
        Some(b'+') => Operator::Reserved,
        Some(b'#') => Operator::Fragment,
        Some(b'.') => Operator::Label,
        Some(b'/') => Operator::Path,
        Some(b';') => Operator::Parameters,
        Some(b'?') => Operator::Query,
        Some(b'&') => Operator::Continuation,
        _ => Operator::Simple,
    };
    let list = inner
        .get(usize::from(operator != Operator::Simple)..)
        .unwrap_or_default();
    let variables = list.split(',').map(|text| match text.strip_suffix('*') {
        Some(name) => Variable {
            name: name.to_owned(),
            explode: true,
            list: None,
            any_path: false,
        },
        None => Variable {
            name: text.to_owned(),
            explode: false,
            list: None,
            any_path: false,
        },
    });
    Expression {
        operator,
        variables: variables.collect(),
    }
}
