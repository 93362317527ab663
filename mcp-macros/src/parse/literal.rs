//! Literals: with their signs, and as the JSON that a client could have sent.

/// Returns the literal, also if it is inside the invisible group that `macro_rules!` makes.
pub(crate) fn literal(expression: &syn::Expr) -> Option<&syn::Lit> {
    match expression {
        syn::Expr::Lit(literal) => Some(&literal.lit),
        syn::Expr::Group(group) => literal(&group.expr),
        _ => None,
    }
}

/// Returns the literal, and `true` if it is a number with a minus sign.
pub(crate) fn signed(expression: &syn::Expr) -> Option<(bool, &syn::Lit)> {
    match expression {
        syn::Expr::Unary(unary) if matches!(unary.op, syn::UnOp::Neg(_)) => {
            let number = literal(&unary.expr)?;
            matches!(number, syn::Lit::Int(_) | syn::Lit::Float(_)).then_some((true, number))
        }
        syn::Expr::Group(group) => signed(&group.expr),
        other => literal(other).map(|literal| (false, literal)),
    }
}

/// Returns a literal, or an array of literals, as JSON; `None` for any other expression.
pub(crate) fn to_json(expression: &syn::Expr) -> Option<String> {
    match expression {
        syn::Expr::Group(group) => to_json(&group.expr),
        syn::Expr::Array(array) => {
            let items: Option<Vec<String>> = array.elems.iter().map(to_json).collect();
            items.map(|items| format!("[{}]", items.join(",")))
        }
        other => {
            let (negative, literal) = signed(other)?;
            let json = literal_to_json(literal)?;
            Some(if negative { format!("-{json}") } else { json })
        }
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
