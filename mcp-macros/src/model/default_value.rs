//! Default values; a literal becomes the JSON that a client could have sent.

use crate::model::Errors;
use crate::model::parameter::Constraints;
use crate::parse::argument::{DefaultOption, parse_number};

/// The value of an argument that the client omits.
pub(crate) enum DefaultValue {
    /// A literal, as JSON.
    Json(String),
    /// The value of the type's `Default`.
    OfType,
    /// A Rust expression.
    Rust(Box<syn::Expr>),
}

impl DefaultValue {
    pub(crate) fn from_option(option: DefaultOption) -> Self {
        match option {
            DefaultOption::OfType => Self::OfType,
            DefaultOption::Value(value) => match to_json(&value) {
                Some(json) => Self::Json(json),
                None => Self::Rust(Box::new(value)),
            },
        }
    }
}

/// Checks a literal against the constraints of its argument. Other expressions are checked when the server starts.
pub(crate) fn check(expression: &syn::Expr, constraints: &Constraints, errors: &mut Errors) {
    let broken = match expression {
        syn::Expr::Group(group) => return check(&group.expr, constraints, errors),
        syn::Expr::Array(array) => {
            if let Some(items) = &constraints.items {
                for item in &array.elems {
                    check(item, &items.value, errors);
                }
            }
            wrong_size(array.elems.len(), constraints)
        }
        syn::Expr::Lit(syn::ExprLit {
            lit: syn::Lit::Str(text),
            ..
        }) => wrong_size(text.value().chars().count(), constraints),
        number => wrong_number(number, constraints),
    };
    if let Some(broken) = broken {
        errors.push(syn::Error::new_spanned(expression, broken));
    }
}

/// Returns the error for this number of characters or items, if `length` forbids it.
fn wrong_size(size: usize, constraints: &Constraints) -> Option<String> {
    let length = &constraints.length.as_ref()?.value;
    let size = u64::try_from(size).unwrap_or(u64::MAX);
    match (length.min, length.max) {
        (Some(min), _) if size < min => Some(format!(
            "a length of {size} is less than {min}, the minimum of `length`"
        )),
        (_, Some(max)) if size > max => Some(format!(
            "a length of {size} is more than {max}, the maximum of `length`"
        )),
        _ => None,
    }
}

/// Returns the error for a number that `range` forbids; `None` if the expression is not a number literal.
fn wrong_number(expression: &syn::Expr, constraints: &Constraints) -> Option<String> {
    let range = &constraints.range.as_ref()?.value;
    let number = parse_number(expression).ok()?.value;
    let start = range.start.as_ref().map(|start| start.value);
    let end = range.end.as_ref().map(|end| end.value);
    match (start, end) {
        (Some(start), _) if number.is_less_than(start) => Some(format!(
            "`{number}` is less than {start}, the minimum of `range`"
        )),
        (_, Some(end)) if end.is_less_than(number) => Some(format!(
            "`{number}` is more than {end}, the maximum of `range`"
        )),
        _ => None,
    }
}

/// Returns a literal, or an array of literals, as JSON; `None` for any other expression.
pub(crate) fn to_json(expression: &syn::Expr) -> Option<String> {
    match expression {
        syn::Expr::Lit(literal) => literal_to_json(&literal.lit),
        syn::Expr::Unary(syn::ExprUnary {
            op: syn::UnOp::Neg(_),
            expr,
            ..
        }) => match &**expr {
            syn::Expr::Lit(syn::ExprLit {
                lit: lit @ (syn::Lit::Int(_) | syn::Lit::Float(_)),
                ..
            }) => literal_to_json(lit).map(|number| format!("-{number}")),
            _ => None,
        },
        // A `$literal:literal` of `macro_rules!` expands to an invisible group.
        syn::Expr::Group(group) => to_json(&group.expr),
        syn::Expr::Array(array) => {
            let items: Option<Vec<String>> = array.elems.iter().map(to_json).collect();
            items.map(|items| format!("[{}]", items.join(",")))
        }
        _ => None,
    }
}

fn literal_to_json(literal: &syn::Lit) -> Option<String> {
    match literal {
        syn::Lit::Str(text) => Some(quote(&text.value())),
        syn::Lit::Char(character) => Some(quote(&character.value().to_string())),
        syn::Lit::Bool(value) => Some(value.value.to_string()),
        syn::Lit::Int(value) => Some(value.base10_digits().to_owned()),
        // Rust accepts `1.`, JSON does not.
        syn::Lit::Float(value) => {
            let digits = value.base10_digits();
            Some(if digits.ends_with('.') {
                format!("{digits}0")
            } else {
                digits.to_owned()
            })
        }
        _ => None,
    }
}

fn quote(text: &str) -> String {
    use std::fmt::Write as _;

    let mut json = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            control if control < ' ' => {
                // Writing to a `String` cannot fail.
                let _ = write!(json, "\\u{:04x}", u32::from(control));
            }
            other => json.push(other),
        }
    }
    json.push('"');
    json
}

#[cfg(test)]
mod tests {
    use super::to_json;

    #[test]
    fn literals_are_json_and_other_expressions_are_not() {
        let cases = [
            ("10", Some("10")),
            ("1_000u32", Some("1000")),
            ("0xff", Some("255")),
            ("-5", Some("-5")),
            ("1.", Some("1.0")),
            ("1.5e3", Some("1.5e3")),
            ("true", Some("true")),
            (r#""a\"b\n""#, Some(r#""a\"b\u000a""#)),
            ("'x'", Some("\"x\"")),
            (r#"["a", "b"]"#, Some(r#"["a","b"]"#)),
            ("[]", Some("[]")),
            ("None", None),
            ("1 + 1", None),
            ("[x]", None),
            ("-x", None),
            ("b\"x\"", None),
        ];
        for (text, expected) in cases {
            let expression = syn::parse_str(text).unwrap();
            assert_eq!(to_json(&expression).as_deref(), expected, "{text}");
        }
    }
}
