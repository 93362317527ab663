//! Rules over a whole signature or several items.

use quote::ToTokens;
use syn::spanned::Spanned;

use crate::model::parameter::{Parameter, find_impl};
use crate::model::{Errors, Handler, Kind};
use crate::parse::impl_block::ImplBlock;

/// The runtime notes the arguments it has seen in the bits of a `u64`.
const MAX_PARAMETERS: usize = 64;

/// A handler is called by the framework, concurrently, with values it has decoded.
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
                "a {} is called with whatever a client sends, so it cannot be `unsafe`",
                kind.noun()
            ),
        ));
    }
    if let Some(variadic) = &signature.variadic {
        errors.push(syn::Error::new_spanned(
            variadic,
            format!(
                "a {} has a fixed list of arguments; take a `Vec`",
                kind.noun()
            ),
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
                "a {} has at most {MAX_PARAMETERS} parameters; gather some in a struct",
                kind.noun()
            ),
        ));
    }
}

/// Calls share the value a method is called on.
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
            format!("a {noun} takes `&self`, because the next call needs the value as well"),
        )),
    }
}

/// A definition is a static, and statics are not generic.
fn check_generics(kind: Kind, signature: &syn::Signature, errors: &mut Errors) {
    for parameter in &signature.generics.params {
        if !matches!(parameter, syn::GenericParam::Lifetime(_)) {
            errors.push(syn::Error::new(
                parameter.span(),
                format!(
                    "a {} cannot be generic, because a client sends concrete values; name the type",
                    kind.noun()
                ),
            ));
        }
    }
}

/// Names are unique, headers are unique whatever their case, and a completer starts with the text typed so far.
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
            "a completer first takes the text typed so far: `partial: &str`",
        ));
    }
    for (index, parameter) in parameters.iter().enumerate() {
        let earlier = parameters.iter().take(index);
        if !parameter.flatten
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
        if let Some(header) = &parameter.header
            && let Some(first) = earlier
                .filter_map(|other| other.header.as_ref())
                .find(|other| other.value().eq_ignore_ascii_case(&header.value()))
        {
            errors.push(syn::Error::new(
                header.span(),
                format!(
                    "header `{}` is used twice; case does not matter",
                    header.value()
                ),
            ));
            errors.push(syn::Error::new(first.span(), "first used here"));
        }
    }
}

/// The return type is named in the definition.
pub(crate) fn check_output(kind: Kind, ty: &syn::Type, errors: &mut Errors) {
    if let Some(span) = find_impl(ty.to_token_stream()) {
        errors.push(syn::Error::new(
            span,
            format!(
                "a {} needs a return type that can be named; write it instead of `impl …`",
                kind.noun()
            ),
        ));
    }
}

/// Names of tools and of prompts are unique in a block; resources go by their address.
pub(crate) fn check_block(handlers: &[Handler], errors: &mut Errors) {
    for (index, handler) in handlers.iter().enumerate() {
        let mut earlier = handlers.iter().take(index);
        if matches!(handler.kind, Kind::Tool | Kind::Prompt)
            && let Some(first) = earlier
                .find(|other| other.kind == handler.kind && other.name.value == handler.name.value)
        {
            errors.push(syn::Error::new(
                handler.name.span,
                format!(
                    "{} name `{}` is used twice",
                    handler.kind.noun(),
                    handler.name.value
                ),
            ));
            errors.push(syn::Error::new(first.name.span, "first used here"));
        }
    }
}

/// Methods are registered for one concrete type.
pub(crate) fn check_impl(block: &ImplBlock, errors: &mut Errors) {
    if let Some((path, _)) = &block.of_trait {
        errors.push(syn::Error::new_spanned(
            path,
            "`#[server]` belongs on `impl Type { … }`, not on the implementation of a trait",
        ));
    }
    for parameter in &block.generics.params {
        errors.push(syn::Error::new(
            parameter.span(),
            "a `#[server]` block cannot be generic; write it for each concrete type",
        ));
    }
}
