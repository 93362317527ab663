//! Splits a function into attributes, signature and body. The body is kept as raw tokens so that incomplete code can
//! still be expanded.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::parse::{Parse, ParseStream};

use crate::parse::kind::Kind;

/// A function or method, as written.
#[derive(Clone)]
pub(crate) struct Function {
    pub(crate) attributes: Vec<syn::Attribute>,
    pub(crate) visibility: syn::Visibility,
    pub(crate) signature: syn::Signature,
    /// The block, or any other tokens that follow the signature.
    pub(crate) body: TokenStream,
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        Ok(Self {
            attributes: input.call(syn::Attribute::parse_outer)?,
            visibility: input.parse()?,
            signature: input.parse()?,
            body: input.parse()?,
        })
    }
}

impl ToTokens for Function {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        for attribute in &self.attributes {
            attribute.to_tokens(tokens);
        }
        self.visibility.to_tokens(tokens);
        self.signature.to_tokens(tokens);
        self.body.to_tokens(tokens);
    }
}

impl Function {
    /// Removes `#[arg(…)]`, `#[complete(…)]` and doc comments from the parameters, because Rust does not allow them
    /// there.
    ///
    /// Returns the removed attributes as a list for each parameter, excluding the receiver.
    pub(crate) fn take_parameter_attributes(&mut self) -> Vec<Vec<syn::Attribute>> {
        self.signature
            .inputs
            .iter_mut()
            .filter_map(|input| match input {
                syn::FnArg::Receiver(_) => None,
                syn::FnArg::Typed(parameter) => {
                    let (ours, others) = std::mem::take(&mut parameter.attrs)
                        .into_iter()
                        .partition(is_parameter_attribute);
                    parameter.attrs = others;
                    Some(ours)
                }
            })
            .collect()
    }

    /// Removes and returns the marker attributes, such as `#[tool]`. A valid function has at most one.
    pub(crate) fn take_markers(&mut self) -> Vec<(Kind, syn::Attribute)> {
        let mut markers = Vec::new();
        self.attributes.retain(|attribute| {
            let Some(kind) = Kind::of_attribute(attribute) else {
                return true;
            };
            markers.push((kind, attribute.clone()));
            false
        });
        markers
    }
}

fn is_parameter_attribute(attribute: &syn::Attribute) -> bool {
    ["doc", "arg", "complete"]
        .iter()
        .any(|name| attribute.path().is_ident(name))
}
