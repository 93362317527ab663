//! Rules for error types whose message the model may read.

use crate::errors::Errors;

/// An error type, and the variants whose message the model may read.
pub(crate) struct Exposed {
    /// The type, without `#[expose]` on its variants.
    pub(crate) ty: syn::DeriveInput,
    /// The marked variants, or `None` if the message of every value may be read.
    pub(crate) variants: Option<Vec<syn::Variant>>,
}

impl Exposed {
    /// Checks that the type is not generic, because only a concrete type can be registered, and finds the variants that
    /// are marked with `#[expose]`.
    pub(crate) fn new(mut ty: syn::DeriveInput, errors: &mut Errors) -> Self {
        if let Some(parameter) = ty.generics.params.first() {
            errors.push(syn::Error::new_spanned(
                parameter,
                "a generic type cannot be `#[expose]`; write `.expose()?` where it is returned",
            ));
        }
        let mut marked = Vec::new();
        let mut count = 0;
        if let syn::Data::Enum(data) = &mut ty.data {
            count = data.variants.len();
            for variant in &mut data.variants {
                if take_mark(variant, errors) {
                    marked.push(variant.clone());
                }
            }
        }
        let is_partial = !marked.is_empty() && marked.len() < count;
        Self {
            ty,
            variants: is_partial.then_some(marked),
        }
    }
}

/// Removes `#[expose]` from a variant. Returns `true` if it was there.
fn take_mark(variant: &mut syn::Variant, errors: &mut Errors) -> bool {
    let before = variant.attrs.len();
    variant.attrs.retain(|attribute| {
        let name = attribute.path().segments.last();
        if name.is_none_or(|name| name.ident != "expose") {
            return true;
        }
        if !matches!(attribute.meta, syn::Meta::Path(_)) {
            errors.push(syn::Error::new_spanned(
                &attribute.meta,
                "`#[expose]` on a variant takes no options",
            ));
        }
        false
    });
    variant.attrs.len() < before
}
