//! Parses the `impl` block below `#[server]` and the attributes of its methods.

use proc_macro2::TokenStream;

use crate::errors::Errors;
use crate::parse::annotations::parse_method;
use crate::parse::impl_block::{ImplBlock, Item};
use crate::parse::options::{CrateOption, parse_attribute};
use crate::parse::value::PathValue;

/// An `impl` block with the attributes of its methods.
pub(crate) struct AnnotatedBlock {
    pub(crate) block: ImplBlock,
    pub(crate) runtime: Option<PathValue>,
}

/// Parses the `impl` block below `#[server]`.
pub(crate) fn parse_server(
    options: TokenStream,
    item: TokenStream,
    errors: &mut Errors,
) -> syn::Result<AnnotatedBlock> {
    let expected = "`#[server]` belongs on an `impl` block";
    let (mut block, options): (ImplBlock, CrateOption) =
        parse_attribute(options, item, expected, errors)?;
    for item in &mut block.items {
        if let Item::Function(function, annotations) = item {
            *annotations = parse_method(function, errors).map(Box::new);
        }
    }
    Ok(AnnotatedBlock {
        block,
        runtime: options.runtime,
    })
}
