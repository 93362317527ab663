//! Compile-time checks on a handler. Each check is a constant that fails to evaluate if the handler is invalid.

use proc_macro2::TokenStream;
use quote::quote;

use crate::expand::parameter::ExpandedParameter;
use crate::expand::tokens::compile_time_check;
use crate::expand::{completer, options, resource};
use crate::model::handler::Handler;
use crate::parse::kind::Kind;
use crate::parse::options::Options;

/// Returns all compile-time checks for a handler.
pub(crate) fn checks(handler: &Handler, parameters: &[ExpandedParameter<'_>]) -> TokenStream {
    let mut checks = TokenStream::new();
    let name = &handler.name;
    // ASCII identifiers of ordinary length are always valid names, so only other names need a check.
    if handler.kind == Kind::Tool
        && (name.chosen || !name.value.is_ascii() || name.value.len() > 128)
    {
        let value = &name.value;
        checks.extend(compile_time_check(
            name.span,
            &quote!(__mcp::rules::tool_name(#value)),
        ));
    }
    checks.extend(options::checks(handler));
    checks.extend(parameters.iter().map(ExpandedParameter::checks));
    match (&handler.options, &handler.target) {
        (Options::Resource(uri, resource), _) => {
            checks.extend(resource::checks(handler, uri, resource));
        }
        (_, Some(target)) => {
            checks.extend(completer::checks(target, handler.self_type.as_ref()));
        }
        _ => {}
    }
    checks
}
