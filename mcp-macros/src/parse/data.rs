//! Parses the options in `#[data(…)]` and inspects the serde attributes on the type.

use darling::FromMeta;
use darling::util::Flag;
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;

use crate::parse::value::PathValue;

/// Options in `#[data(…)]`.
#[derive(Default, FromMeta)]
pub(crate) struct DataOptions {
    /// The type is only received, so `Serialize` is not derived.
    pub(crate) input: Flag,
    /// The type is only sent, so `Deserialize` is not derived.
    pub(crate) output: Flag,
    /// Unknown fields are ignored.
    pub(crate) allow_unknown_fields: Flag,
    /// The path to the runtime crate.
    #[darling(rename = "crate")]
    pub(crate) runtime: Option<PathValue>,
}

/// Returns `true` if a serde attribute on the type, a variant or a field determines how unknown fields are treated.
pub(crate) fn decides_about_unknown_fields(ty: &syn::DeriveInput) -> bool {
    let decides = |attributes: &[syn::Attribute]| {
        attributes
            .iter()
            .any(|attribute| decides(attribute.meta.to_token_stream(), false))
    };
    let in_fields = |fields: &syn::Fields| fields.iter().any(|field| decides(&field.attrs));
    let inside = match &ty.data {
        syn::Data::Struct(data) => in_fields(&data.fields),
        syn::Data::Enum(data) => data
            .variants
            .iter()
            .any(|variant| decides(&variant.attrs) || in_fields(&variant.fields)),
        syn::Data::Union(_) => false,
    };
    inside || decides(&ty.attrs)
}

/// Returns `true` if the tokens contain `serde(…)` with an option that determines how unknown fields are treated. Also
/// looks inside `cfg_attr(…)`.
fn decides(tokens: TokenStream, mut within: bool) -> bool {
    tokens.into_iter().any(|tree| match tree {
        TokenTree::Ident(word) => {
            within |= word == "serde";
            within && (word == "flatten" || word == "deny_unknown_fields")
        }
        TokenTree::Group(group) => decides(group.stream(), within),
        _ => false,
    })
}
