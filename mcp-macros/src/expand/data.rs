//! `#[data]`: derives the traits that an argument or result needs, using the runtime's re-exports.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};

use crate::expand::tokens::runtime_path;
use crate::model::data::{Data, Direction};
use crate::parse::data::plain_field_types;

/// Returns the type with the derive attributes added, and a check that reports how to fix any unsuitable field types.
pub(crate) fn expand_data(data: &Data) -> TokenStream {
    let runtime = runtime_path(data.runtime.as_ref());
    let serialize =
        (data.direction != Direction::Input).then(|| quote!(#runtime::serde::Serialize,));
    let deserialize =
        (data.direction != Direction::Output).then(|| quote!(#runtime::serde::Deserialize,));
    let serde = path_text(&quote!(#runtime::serde));
    let schemars = path_text(&quote!(#runtime::schemars));
    let closed = data.closed.then(|| quote!(, deny_unknown_fields));
    let ty = &data.ty;
    // The check comes first so that its error is reported first.
    let fields = plain_field_types(ty);
    let fields = (!fields.is_empty()).then(|| {
        quote!(const _: () = {
            use #runtime::__private as __mcp;
            use __mcp::ProbeFallback as _;
            #(__mcp::data_field(<__mcp::Probe<#fields>>::json_schema).check::<#fields>();)*
        };)
    });
    let display = data.display.then(|| expand_display(ty, &runtime));
    quote!(
        #fields
        #display
        #[derive(#serialize #deserialize #runtime::schemars::JsonSchema)]
        #[serde(crate = #serde #closed)]
        #[schemars(crate = #schemars)]
        #ty
    )
}

/// Returns an implementation of `Display` that prints serde's name for the variant.
fn expand_display(ty: &syn::DeriveInput, runtime: &TokenStream) -> TokenStream {
    let name = &ty.ident;
    let (impl_generics, type_generics, bounds) = ty.generics.split_for_impl();
    quote!(
        #[automatically_derived]
        impl #impl_generics ::core::fmt::Display for #name #type_generics #bounds {
            fn fmt(&self, __mcp_f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                #runtime::serde::Serialize::serialize(self, __mcp_f)
            }
        }
    )
}

/// Formats a path as a string without spaces, as the `crate` attributes of serde and schemars expect.
fn path_text(path: &TokenStream) -> String {
    path.to_token_stream().to_string().replace(' ', "")
}
