//! Doc comments as strings.

use proc_macro2::TokenStream;
use quote::quote;

/// Returns the text of the doc comments among these attributes, as an expression of type `&'static str`.
///
/// `None` if there is no text. Values other than literals, such as `include_str!`, are left to `concat!`.
pub(crate) fn from_attributes(attributes: &[syn::Attribute]) -> Option<TokenStream> {
    let mut lines = Vec::new();
    for attribute in attributes {
        if let syn::Meta::NameValue(doc) = &attribute.meta
            && doc.path.is_ident("doc")
        {
            lines.push(&doc.value);
        }
    }
    let texts: Option<Vec<String>> = lines.iter().map(|line| as_text(line)).collect();
    if let Some(texts) = texts {
        let text = join(&texts);
        return (!text.is_empty()).then(|| quote!(#text));
    }
    Some(quote!(::core::concat!(#(#lines),*)))
}

fn as_text(expression: &syn::Expr) -> Option<String> {
    match expression {
        syn::Expr::Lit(syn::ExprLit {
            lit: syn::Lit::Str(text),
            ..
        }) => Some(text.value()),
        _ => None,
    }
}

/// Joins the lines, without their common indentation and without leading or trailing empty lines.
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
    fn lines_lose_the_indentation_they_share() {
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
