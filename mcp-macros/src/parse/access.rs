//! The options that say who may use a definition.

use darling::ast::NestedMeta;
use darling::{Error, FromMeta, Result};
use syn::spanned::Spanned;

const FORM: &str =
    "write the scopes in parentheses, each in quotes: `scopes(\"notes:read\", \"notes:write\")`";

/// `scopes("notes:read", "notes:write")`
#[derive(Clone, Debug)]
pub(crate) struct Scopes(pub(crate) Vec<syn::LitStr>);

impl FromMeta for Scopes {
    fn from_meta(item: &syn::Meta) -> Result<Self> {
        let syn::Meta::List(list) = item else {
            return Err(Error::custom(FORM).with_span(item));
        };
        let items = NestedMeta::parse_meta_list(list.tokens.clone())?;
        if items.is_empty() {
            return Err(Error::custom(FORM).with_span(item));
        }
        let mut errors = Error::accumulator();
        let scopes = items.into_iter().filter_map(|item| match item {
            NestedMeta::Lit(syn::Lit::Str(scope)) => Some(scope),
            other => {
                errors.push(Error::custom(FORM).with_span(&other.span()));
                None
            }
        });
        let scopes = scopes.collect();
        errors.finish_with(Self(scopes))
    }
}
