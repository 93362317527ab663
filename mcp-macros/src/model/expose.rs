//! Rules for error types whose message the model may read.

use crate::errors::Errors;

/// Checks that the type is not generic, because only a concrete type can be registered.
pub(crate) fn check(ty: &syn::DeriveInput, errors: &mut Errors) {
    if let Some(parameter) = ty.generics.params.first() {
        errors.push(syn::Error::new_spanned(
            parameter,
            "a generic type cannot be `#[expose]`; write `.expose()?` where it is returned",
        ));
    }
}
