//! Reads descriptions from doc comments or from the options that replace them.

use crate::parse::literal::find_literal;
use crate::parse::value::Expression;

/// A description.
#[derive(Clone, Debug)]
pub(crate) enum Description {
    /// The value of an option.
    Option(syn::Expr),
    /// The text of a doc comment.
    Text(String),
    /// The expressions in a doc comment, if any of them is not a literal, as in `#[doc = include_str!(…)]`.
    Parts(Vec<syn::Expr>),
}

impl Description {
    /// Returns the option's value if it is set. Otherwise, returns the doc comments among the attributes, or `None` if
    /// these are empty.
    pub(crate) fn new(option: Option<&Expression>, attributes: &[syn::Attribute]) -> Option<Self> {
        if let Some(Expression(option)) = option {
            return Some(Self::Option(option.clone()));
        }
        let mut values = Vec::new();
        for attribute in attributes {
            if let syn::Meta::NameValue(doc) = &attribute.meta
                && doc.path.is_ident("doc")
            {
                values.push(doc.value.clone());
            }
        }
        let texts: Option<Vec<String>> = values.iter().map(as_text).collect();
        match texts.map(|texts| join(&texts)) {
            Some(text) => (!text.is_empty()).then_some(Self::Text(text)),
            None => Some(Self::Parts(values)),
        }
    }
}

fn as_text(expression: &syn::Expr) -> Option<String> {
    match find_literal(expression)? {
        syn::Lit::Str(text) => Some(text.value()),
        _ => None,
    }
}

/// Joins the lines after removing their common indentation and any leading or trailing empty lines.
fn join(texts: &[String]) -> String {
    let lines = || texts.iter().flat_map(|text| text.split('\n'));
    let indent = lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.len() - line.trim_start_matches(' ').len())
        .min()
        .unwrap_or(0);
    let lines: Vec<&str> = lines()
        .map(|line| line.get(indent..).unwrap_or("").trim_end())
        .collect();
    lines.join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::join;

    #[test]
    fn common_indentation_of_lines_is_removed() {
        let cases: [(&[&str], &str); 4] = [
            (
                &[" One.", "", "   indented", " two"],
                "One.\n\n  indented\ntwo",
            ),
            (&["", " Only this.", ""], "Only this."),
            (&["\n Block\n comment\n"], "Block\ncomment"),
            (&[], ""),
        ];
        for (texts, expected) in cases {
            let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
            assert_eq!(join(&texts), expected);
        }
    }
}
