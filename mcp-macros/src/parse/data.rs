//! Parses the options in `#[data(…)]` and inspects the serde attributes on the type.

use std::collections::HashSet;

use darling::FromMeta;
use darling::util::Flag;
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;

use crate::parse::value::PathValue;

/// Options in `#[data(…)]`.
#[derive(Default, FromMeta)]
pub(crate) struct DataOptions {
    /// Values of the type are only received, so `Serialize` is not derived.
    pub(crate) input: Flag,
    /// Values of the type are only sent, so `Deserialize` is not derived.
    pub(crate) output: Flag,
    /// Unknown fields are ignored.
    pub(crate) allow_unknown_fields: Flag,
    /// `Display` prints serde's name for the variant.
    pub(crate) display: Flag,
    /// The path to the runtime crate.
    #[darling(rename = "crate")]
    pub(crate) runtime: Option<PathValue>,
}

/// Returns `true` if serde writes each value of the type as the name of its variant.
pub(crate) fn is_written_as_a_name(ty: &syn::DeriveInput) -> bool {
    let syn::Data::Enum(data) = &ty.data else {
        return false;
    };
    let replaces = ["tag", "untagged", "into", "serialize_with", "with"];
    let variants = data.variants.iter();
    variants.clone().all(|it| it.fields.is_empty())
        && !mentions(&ty.attrs, &["serde"], &replaces)
        && !variants
            .into_iter()
            .any(|it| mentions(&it.attrs, &["serde"], &replaces))
}

/// Returns `true` if a serde attribute on the type, a variant or a field determines how unknown fields are treated.
pub(crate) fn decides_about_unknown_fields(ty: &syn::DeriveInput) -> bool {
    let decides = |attributes: &[syn::Attribute]| {
        mentions(attributes, &["serde"], &["flatten", "deny_unknown_fields"])
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

/// Returns the distinct field types that must implement the derived traits themselves. Fields with an attribute that
/// may replace their type are omitted, as are all fields of a generic type, because the derives determine the bounds.
pub(crate) fn plain_field_types(ty: &syn::DeriveInput) -> Vec<&syn::Type> {
    const CRATES: [&str; 2] = ["serde", "schemars"];
    /// Field options that do not replace the field's type.
    const KEEP: [&str; 6] = ["rename", "alias", "default", "regex", "range", "length"];
    /// Field options that may replace the field's type.
    const REPLACE: [&str; 9] = [
        "with",
        "schema_with",
        "serialize_with",
        "deserialize_with",
        "skip",
        "skip_serializing",
        "skip_deserializing",
        "flatten",
        "remote",
    ];
    let replaces = ["from", "try_from", "into", "remote", "with"];
    if !ty.generics.params.is_empty() || mentions(&ty.attrs, &CRATES, &replaces) {
        return Vec::new();
    }
    let fields: Vec<&syn::Field> = match &ty.data {
        syn::Data::Struct(data) => data.fields.iter().collect(),
        syn::Data::Enum(data) => {
            let plain = data
                .variants
                .iter()
                .filter(|variant| variant.attrs.iter().all(is_doc));
            plain.flat_map(|variant| &variant.fields).collect()
        }
        syn::Data::Union(_) => Vec::new(),
    };
    let is_plain = |field: &&syn::Field| {
        field.attrs.iter().all(|attribute| {
            is_doc(attribute)
                || (!mentions([attribute], &CRATES, &REPLACE)
                    && mentions([attribute], &CRATES, &KEEP))
        }) && !words_of(field.ty.to_token_stream()).contains(&"Self".to_owned())
    };
    let mut seen = HashSet::new();
    let plain = fields.into_iter().filter(is_plain).map(|field| &field.ty);
    plain
        .filter(|ty| seen.insert(ty.to_token_stream().to_string()))
        .collect()
}

fn is_doc(attribute: &syn::Attribute) -> bool {
    attribute.path().is_ident("doc")
}

/// Returns `true` if any attribute that belongs to one of these crates, such as `serde(…)`, contains one of the given
/// words. Also looks inside `cfg_attr(…)`.
fn mentions<'a>(
    attributes: impl IntoIterator<Item = &'a syn::Attribute>,
    crates: &[&str],
    words: &[&str],
) -> bool {
    attributes.into_iter().any(|attribute| {
        let found = words_of(attribute.meta.to_token_stream());
        let of_crate = found
            .iter()
            .position(|word| crates.contains(&word.as_str()));
        let inside = found.get(of_crate.unwrap_or(found.len())..).unwrap_or(&[]);
        inside.iter().any(|word| words.contains(&word.as_str()))
    })
}

/// Returns all identifiers, including those inside groups.
fn words_of(tokens: TokenStream) -> Vec<String> {
    let words = |tree| match tree {
        TokenTree::Ident(word) => vec![word.to_string()],
        TokenTree::Group(group) => words_of(group.stream()),
        _ => Vec::new(),
    };
    tokens.into_iter().flat_map(words).collect()
}
