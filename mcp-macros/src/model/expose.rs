//! Rules for error types with messages that the model may read.

use crate::errors::Errors;

/// An error type, and the variants whose messages the model may read.
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
        check_fields(&mut ty.data, errors);
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

/// Rejects `#[expose]` on fields, because the message describes the whole value.
fn check_fields(data: &mut syn::Data, errors: &mut Errors) {
    let fields: Vec<&mut syn::Field> = match data {
        syn::Data::Struct(data) => data.fields.iter_mut().collect(),
        syn::Data::Enum(data) => {
            let variants = data.variants.iter_mut();
            variants.flat_map(|variant| &mut variant.fields).collect()
        }
        syn::Data::Union(_) => Vec::new(),
    };
    for field in fields {
        field.attrs.retain(|attribute| {
            if is_mark(attribute) {
                errors.push(syn::Error::new_spanned(
                    attribute.path(),
                    "`#[expose]` belongs on a variant or on the whole type, not on a field; fields are exposed only if \
                     `Display` writes them",
                ));
            }
            !is_mark(attribute)
        });
    }
}

fn is_mark(attribute: &syn::Attribute) -> bool {
    let name = attribute.path().segments.last();
    name.is_some_and(|name| name.ident == "expose")
}

/// Removes `#[expose]` from a variant. Returns `true` if the attribute was present.
fn take_mark(variant: &mut syn::Variant, errors: &mut Errors) -> bool {
    let before = variant.attrs.len();
    variant.attrs.retain(|attribute| {
        if !is_mark(attribute) {
            return true;
        }
        if !matches!(attribute.meta, syn::Meta::Path(_)) {
            errors.push(syn::Error::new_spanned(
                &attribute.meta,
                "`#[expose]` on a variant takes no options; write `#[expose]`",
            ));
        }
        false
    });
    variant.attrs.len() < before
}
