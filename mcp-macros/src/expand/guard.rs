//! The limits of a handler, and the check of its rate's syntax.

use proc_macro2::TokenStream;
use quote::quote;

use crate::expand::tokens::assert_verdict;
use crate::expand::value::{Fields, duration};
use crate::parse::guard::{Count, GuardOptions, Size};

/// Sets the field of `Options`, if there are limits.
pub(crate) fn set(options: &mut Fields, guards: &GuardOptions) {
    let mut fields = Fields::default();
    fields.set_some("timeout", guards.timeout.as_ref().map(duration));
    fields.set_some("rate", guards.rate.as_ref().map(|rate| quote!(#rate)));
    let concurrency = guards.concurrency.as_ref();
    fields.set_some(
        "concurrency",
        concurrency.map(|Count(calls)| quote!(#calls)),
    );
    let max_output = guards.max_output.as_ref().map(|size| match size {
        Size::Bytes(bytes) => quote!(#bytes),
        Size::Expression(expression) => quote!(#expression),
    });
    fields.set_some("max_output", max_output);
    if !fields.is_empty() {
        options.set("guards", &fields.finish(&quote!(__mcp::GuardOptions)));
    }
}

/// Returns the check made at compile time: the syntax of the rate.
pub(crate) fn checks(guards: &GuardOptions) -> Option<TokenStream> {
    let rate = guards.rate.as_ref()?;
    Some(assert_verdict(
        rate.span(),
        &quote!(__mcp::rules::rate(#rate)),
    ))
}
