//! The options of a completer, and the check that what it completes exists.

use proc_macro2::TokenStream;
use quote::quote;

use crate::expand::handler::reference_name;
use crate::expand::tokens::assert_verdict;
use crate::expand::value::Fields;
use crate::model::Kind;
use crate::model::completer::{Completer, Target};

/// The fields of `Options`.
pub(crate) fn options(completer: &Completer) -> TokenStream {
    let mut fields = Fields::default();
    let completes = completer.target.as_ref().map(|target| {
        let function = &target.function;
        let argument = &target.argument;
        quote!(__mcp::Completes {
            target: || __mcp::type_id_of(&#function),
            argument: #argument,
        })
    });
    fields.set_some("completes", completes);
    fields.finish()
}

/// The argument it names is one of the prompt's or template's, and its first parameter takes text from the client.
pub(crate) fn checks(completer: &Completer) -> TokenStream {
    completer
        .target
        .as_ref()
        .map(check_target)
        .unwrap_or_default()
}

fn check_target(target: &Target) -> TokenStream {
    let argument = &target.argument;
    let mut reference = target.function.clone();
    let mut name = String::new();
    if let Some(last) = reference.segments.last_mut() {
        name = last.ident.to_string();
        last.ident = reference_name(&last.ident);
    }
    let kind = match target.kind {
        Kind::ResourceTemplate => "resource template",
        _ => "prompt",
    };
    assert_verdict(
        argument.span(),
        &quote!(__mcp::rules::completed_argument(#kind, #name, #reference(), #argument)),
    )
}
