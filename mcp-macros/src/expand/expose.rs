//! `#[expose]`: an error type whose message the model may read wherever a handler fails with it.

use proc_macro2::{Span, TokenStream};
use quote::quote;

use crate::expand::handler::runtime;
use crate::expand::with_error;
use crate::parse::item_options::parse_options;
use crate::parse::server::ShownOptions;
use crate::parse::value::PathValue;

/// Expands `#[expose]`: the unchanged type, and its registration.
pub(crate) fn expose(options: TokenStream, item: TokenStream) -> TokenStream {
    let options: ShownOptions = match parse_options(options) {
        Ok(options) => options,
        Err(error) => return with_error(item, &error),
    };
    let Ok(ty) = syn::parse2::<syn::DeriveInput>(item.clone()) else {
        let text = "`#[expose]` belongs on an error type, a struct or an enum";
        return with_error(item, &syn::Error::new(Span::call_site(), text));
    };
    if let Some(parameter) = ty.generics.params.first() {
        let text = "a generic type cannot be `#[expose]`; write `.expose()?` where it is returned";
        return with_error(item, &syn::Error::new_spanned(parameter, text));
    }
    let cfgs = ty
        .attrs
        .iter()
        .filter(|attribute| attribute.path().is_ident("cfg"));
    let runtime = runtime(options.runtime.as_ref().map(|PathValue(path)| path));
    let name = &ty.ident;
    quote!(
        #item
        #(#cfgs)*
        const _: () = {
            use #runtime::__private as __mcp;
            __mcp::inventory::submit! { __mcp::ShownError::of::<#name>() }
        };
    )
}
