//! Compile-time checks that need type information about a handler. Each check is a constant whose evaluation fails if
//! the handler is invalid.

use proc_macro2::TokenStream;

use crate::expand::parameter::ExpandedParameter;
use crate::expand::{completer, resource, tool};
use crate::model::handler::Handler;
use crate::parse::options::Options;

/// Returns all compile-time checks for a handler.
pub(crate) fn handler_checks(
    handler: &Handler,
    parameters: &[ExpandedParameter<'_>],
) -> TokenStream {
    let mut checks: TokenStream = parameters
        .iter()
        .map(ExpandedParameter::type_checks)
        .collect();
    match (&handler.options, &handler.target) {
        (Options::Resource(uri, _), _) => checks.extend(resource::variable_checks(handler, uri)),
        (Options::Tool(tool), _) => {
            checks.extend(tool::identifying_argument_checks(tool, &handler.parameters));
        }
        (_, Some(target)) => {
            checks.extend(completer::target_check(target, handler.self_type.as_ref()));
        }
        _ => {}
    }
    checks
}
