//! Rules for an asynchronous `main`.

use crate::errors::Errors;

/// Checks that the function is `async` and takes no parameters.
pub(crate) fn check_main_signature(signature: &syn::Signature, errors: &mut Errors) {
    if signature.asyncness.is_none() {
        errors.push(syn::Error::new_spanned(
            signature.fn_token,
            "`#[main]` belongs on an `async fn`: write `async fn main()`",
        ));
    }
    if let Some(parameter) = signature.inputs.first() {
        errors.push(syn::Error::new_spanned(
            parameter,
            "`main` takes no parameters; remove them",
        ));
    }
}
