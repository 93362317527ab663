//! Restrictions on who may use a definition, and the checks of its scopes.

use proc_macro2::TokenStream;
use quote::quote;

use crate::expand::tokens::{assert_verdict, outside};
use crate::expand::value::Fields;
use crate::model::Handler;

/// Returns the first fields of `Options`.
pub(crate) fn fields(handler: &Handler) -> Fields {
    let mut fields = Fields::default();
    let scopes = &handler.access.scopes;
    if !scopes.is_empty() {
        fields.set("scopes", &quote!(&[#(#scopes),*]));
    }
    if let Some(path) = &handler.access.visible_if {
        let path = outside(path, handler.self_type.as_ref(), "_");
        fields.set("visible_if", &quote!(__mcp::visible_if(#path)));
    }
    fields
}

/// Returns the checks made at compile time: the syntax of the scopes.
pub(crate) fn checks(handler: &Handler) -> TokenStream {
    let scopes = handler.access.scopes.iter();
    scopes
        .map(|scope| assert_verdict(scope.span(), &quote!(__mcp::rules::scope(#scope))))
        .collect()
}
