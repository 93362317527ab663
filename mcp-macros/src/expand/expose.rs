//! `#[expose]`: registers an error type, so that the model may read the message when a handler fails with an error of
//! that type.

use proc_macro2::TokenStream;
use quote::quote;

use crate::expand::tokens::runtime;
use crate::parse::options::CrateOption;

/// Returns the unchanged type together with its registration.
pub(crate) fn expose(ty: &syn::DeriveInput, options: &CrateOption) -> TokenStream {
    let runtime = runtime(options.runtime.as_ref());
    let cfgs = ty
        .attrs
        .iter()
        .filter(|attribute| attribute.path().is_ident("cfg"));
    let name = &ty.ident;
    quote!(
        #ty
        #(#cfgs)*
        const _: () = {
            use #runtime::__private as __mcp;
            __mcp::inventory::submit! { __mcp::ShownError::of::<#name>() }
        };
    )
}
