//! `#[expose]`: registers an error type so that the model may read the message when a handler fails with an error of
//! that type.

use proc_macro2::TokenStream;
use quote::quote;

use crate::expand::tokens::runtime_path;
use crate::model::expose::Exposed;
use crate::parse::options::CrateOption;

/// Returns the type together with its registration.
pub(crate) fn expand_expose(exposed: &Exposed, options: &CrateOption) -> TokenStream {
    let runtime = runtime_path(options.runtime.as_ref());
    let ty = &exposed.ty;
    let name = &ty.ident;
    let is_exposed = match &exposed.variants {
        None => quote!(|_| true),
        Some(variants) => {
            let arms = variants.iter().map(|variant| {
                let (cfgs, variant) = (cfg_attributes(&variant.attrs), &variant.ident);
                quote!(#(#cfgs)* #name::#variant { .. } => true,)
            });
            quote!(|__mcp_error| match __mcp_error { #(#arms)* _ => false })
        }
    };
    let cfgs = cfg_attributes(&ty.attrs);
    quote!(
        #ty
        #(#cfgs)*
        const _: () = {
            use #runtime::__private as __mcp;
            __mcp::inventory::submit! {
                __mcp::ExposedError(|__mcp_error| __mcp::exposed_text::<#name>(__mcp_error, #is_exposed))
            }
        };
    )
}

/// Returns the conditions under which an item is compiled.
fn cfg_attributes(attributes: &[syn::Attribute]) -> Vec<&syn::Attribute> {
    let attributes = attributes.iter();
    attributes
        .filter(|attribute| attribute.path().is_ident("cfg"))
        .collect()
}
