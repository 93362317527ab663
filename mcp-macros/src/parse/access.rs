//! Parses options that list strings in parentheses: `scopes(…)` and `tags(…)`.

use darling::ast::NestedMeta;
use darling::{Error, FromMeta, Result};
use syn::spanned::Spanned;

const SCOPES: &str =
    "`scopes` takes strings in parentheses: `scopes(\"notes:read\", \"notes:write\")`";
const TAGS: &str = "`tags` takes strings in parentheses: `tags(\"admin\", \"notes\")`";

/// The `scopes("notes:read", "notes:write")` option.
#[derive(Clone, Debug)]
pub(crate) struct Scopes(pub(crate) Vec<syn::LitStr>);

impl FromMeta for Scopes {
    fn from_meta(item: &syn::Meta) -> Result<Self> {
        parse_strings(item, SCOPES).map(Self)
    }
}

/// The `tags("admin", "notes")` option.
#[derive(Clone, Debug)]
pub(crate) struct Tags(pub(crate) Vec<syn::LitStr>);

impl FromMeta for Tags {
    fn from_meta(item: &syn::Meta) -> Result<Self> {
        parse_strings(item, TAGS).map(Self)
    }
}

/// Parses `option("a", "b")`. For any other form, the error shows the expected form.
pub(crate) fn parse_strings(item: &syn::Meta, form: &str) -> Result<Vec<syn::LitStr>> {
    let syn::Meta::List(list) = item else {
        return Err(Error::custom(form).with_span(item));
    };
    let items = NestedMeta::parse_meta_list(list.tokens.clone())?;
    if items.is_empty() {
        return Err(Error::custom(form).with_span(item));
    }
    let mut errors = Error::accumulator();
    let strings = items.into_iter().filter_map(|item| match item {
        NestedMeta::Lit(syn::Lit::Str(string)) => Some(string),
        other => {
            errors.push(Error::custom(form).with_span(&other.span()));
            None
        }
    });
    let strings = strings.collect();
    errors.finish_with(strings)
}
