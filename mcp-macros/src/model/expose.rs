//! Rules over an error type whose message the model may read.

use crate::errors::Errors;

/// Checks that the type is not generic, because one concrete type is registered.
pub(crate) fn check(ty: &syn::DeriveInput, errors: &mut Errors) {
    if let Some(parameter) = ty.generics.params.first() {
        errors.push(syn::Error::new_spanned(
            parameter,
            "a generic type cannot be `#[expose]`; write `.expose()?` where it is returned",
        ));
    }
}
