//! Compile-time checks on a handler that need types. Each is a constant that fails to evaluate if the handler is invalid.

use proc_macro2::TokenStream;

use crate::expand::parameter::ExpandedParameter;
use crate::expand::{completer, resource};
use crate::model::handler::Handler;
use crate::parse::options::Options;

/// Returns all compile-time checks for a handler.
pub(crate) fn checks(handler: &Handler, parameters: &[ExpandedParameter<'_>]) -> TokenStream {
    let mut checks: TokenStream = parameters.iter().map(ExpandedParameter::checks).collect();
    match (&handler.options, &handler.target) {
        (Options::Resource(uri, _), _) => checks.extend(resource::checks(handler, uri)),
        (_, Some(target)) => {
            checks.extend(completer::checks(target, handler.self_type.as_ref()));
        }
        _ => {}
    }
    checks
}
