//! Models an `impl` block with handlers.

use syn::spanned::Spanned;

use crate::errors::Errors;
use crate::model::handler::Handler;
use crate::parse::impl_block::{ImplBlock, Item};
use crate::parse::kind::Kind;
use crate::parse::server::AnnotatedBlock;

/// An `impl` block, ready to be expanded.
pub(crate) struct Server {
    pub(crate) block: ImplBlock,
    pub(crate) handlers: Vec<Handler>,
}

impl Server {
    /// Builds the models of the methods, which inherit the block's `crate` option and `#[cfg(…)]` attributes.
    pub(crate) fn new(parsed: AnnotatedBlock, errors: &mut Errors) -> Self {
        let AnnotatedBlock { mut block, runtime } = parsed;
        check_impl(&block, errors);
        let mut handlers = Vec::new();
        for item in &mut block.items {
            if let Item::Function(function, annotations) = item
                && let Some(annotations) = annotations.take()
            {
                handlers.push(Handler::new(
                    function,
                    *annotations,
                    Some(&block.self_type),
                    errors,
                ));
            }
        }
        check_block(&handlers, errors);
        for handler in &mut handlers {
            handler.runtime = handler.runtime.take().or_else(|| runtime.clone());
            handler.cfgs.extend(block.cfgs());
        }
        Self { block, handlers }
    }
}

/// Checks that the names of tools and prompts are unique within a block. Resources are identified by their URIs
/// instead.
fn check_block(handlers: &[Handler], errors: &mut Errors) {
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

/// Checks that the block implements a single concrete type, because methods are registered for a concrete type.
fn check_impl(block: &ImplBlock, errors: &mut Errors) {
    if let Some((path, _)) = &block.of_trait {
        errors.push(syn::Error::new_spanned(
            path,
            "`#[server]` belongs on `impl Type { … }`, not on a trait implementation",
        ));
    }
    for parameter in &block.generics.params {
        errors.push(syn::Error::new(
            parameter.span(),
            "a `#[server]` block cannot be generic; write one for each concrete type",
        ));
    }
}
