//! Rules for the signature as a whole.

use syn::spanned::Spanned;

use crate::errors::Errors;
use crate::model::parameter::Parameter;
use crate::parse::kind::Kind;
use crate::parse::types::find_impl;

/// Maximum number of parameters. The runtime uses one bit of a `u64` for each parameter to track the arguments that it
/// has seen.
const MAX_PARAMETERS: usize = 64;

/// Checks that the framework can call the function concurrently and with arguments chosen by clients.
pub(crate) fn check_signature(
    kind: Kind,
    signature: &syn::Signature,
    self_type: Option<&syn::Type>,
    errors: &mut Errors,
) {
    check_receiver(kind, signature, self_type, errors);
    check_generics(kind, signature, errors);
    if let syn::Safety::Unsafe(unsafety) = &signature.safety {
        errors.push(syn::Error::new(
            unsafety.span,
            format!(
                "a {} cannot be `unsafe`, because clients choose its arguments; remove `unsafe`",
                kind.noun()
            ),
        ));
    }
    if let Some(variadic) = &signature.variadic {
        errors.push(syn::Error::new_spanned(
            variadic,
            format!("a {} cannot be variadic; take a `Vec`", kind.noun()),
        ));
    }
    if let Some(parameter) = signature
        .inputs
        .iter()
        .nth(MAX_PARAMETERS + usize::from(signature.receiver().is_some()))
    {
        errors.push(syn::Error::new(
            parameter.span(),
            format!(
                "a {} takes at most {MAX_PARAMETERS} parameters; group some in a struct",
                kind.noun()
            ),
        ));
    }
}

/// Checks that the receiver is `&self`, because all calls share the same value.
fn check_receiver(
    kind: Kind,
    signature: &syn::Signature,
    self_type: Option<&syn::Type>,
    errors: &mut Errors,
) {
    let Some(receiver) = signature.receiver() else {
        return;
    };
    if self_type.is_none() {
        errors.push(syn::Error::new(
            signature.fn_token.span,
            "a method needs `#[server]` on its `impl` block",
        ));
    }
    let noun = kind.noun();
    match &receiver.kind {
        syn::ReceiverKind::Reference(_, _, None) => {}
        syn::ReceiverKind::Reference(..) => errors.push(syn::Error::new_spanned(
            receiver,
            format!(
                "a {noun} takes `&self`, because calls run concurrently; keep state in a `Mutex`, an atomic or a channel"
            ),
        )),
        _ => errors.push(syn::Error::new_spanned(
            receiver,
            format!("a {noun} takes `&self`, because later calls need the value too"),
        )),
    }
}

/// Checks that the function is not generic, because its definition is a static and statics cannot be generic.
fn check_generics(kind: Kind, signature: &syn::Signature, errors: &mut Errors) {
    for parameter in &signature.generics.params {
        if !matches!(parameter, syn::GenericParam::Lifetime(_)) {
            errors.push(syn::Error::new(
                parameter.span(),
                format!(
                    "a {} cannot be generic, because clients send concrete values; use a concrete type",
                    kind.noun()
                ),
            ));
        }
    }
}

/// Checks that argument names are unique, that header names are unique regardless of case, and that a completer has a
/// first parameter for the text typed so far.
pub(crate) fn check_parameters(
    kind: Kind,
    signature: &syn::Signature,
    parameters: &[Parameter],
    errors: &mut Errors,
) {
    if kind == Kind::Completer
        && signature.inputs.len() == usize::from(signature.receiver().is_some())
    {
        errors.push(syn::Error::new_spanned(
            &signature.ident,
            "a completer needs the text typed so far as its first parameter: `partial: &str`",
        ));
    }
    for (index, parameter) in parameters.iter().enumerate() {
        let earlier = parameters.iter().take(index);
        if !parameter.annotations.options.flatten.is_present()
            && let Some(first) = earlier
                .clone()
                .find(|other| other.name.value == parameter.name.value)
        {
            errors.push(syn::Error::new(
                parameter.name.span,
                format!("argument name `{}` is used twice", parameter.name.value),
            ));
            errors.push(syn::Error::new(first.name.span, "first used here"));
        }
        if let Some(header) = &parameter.annotations.options.header
            && let Some(first) = earlier
                .filter_map(|other| other.annotations.options.header.as_ref())
                .find(|other| other.value().eq_ignore_ascii_case(&header.value()))
        {
            errors.push(syn::Error::new(
                header.span(),
                format!(
                    "header `{}` is used twice; header names are case-insensitive",
                    header.value()
                ),
            ));
            errors.push(syn::Error::new(first.span(), "first used here"));
        }
    }
}

/// Returns the return type. Checks that the type is not `impl …`, because the definition must be able to name it.
pub(crate) fn check_return_type(
    kind: Kind,
    signature: &syn::Signature,
    errors: &mut Errors,
) -> Option<syn::Type> {
    let syn::ReturnType::Type(_, ty) = &signature.output else {
        return None;
    };
    if let Some(span) = find_impl(ty) {
        errors.push(syn::Error::new(
            span,
            format!(
                "a {} cannot return `impl …`; name the return type",
                kind.noun()
            ),
        ));
    }
    Some((**ty).clone())
}
