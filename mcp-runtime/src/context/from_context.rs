//! Parameters that are injected into handlers.

use crate::context::{Caller, Context, Principal, States};
use crate::handler::handler_error::HandlerError;

/// A value that is injected into a handler in addition to its arguments.
///
/// ```
/// use mcp_runtime::{Context, FromContext, HandlerError};
///
/// /// The tenant of the request, as sent by the client in `_meta`.
/// struct Tenant(String);
///
/// impl FromContext for Tenant {
///     fn from_context(context: &Context) -> Result<Self, HandlerError> {
///         match context.meta().get("com.example/tenant").and_then(|name| name.as_str()) {
///             Some(name) => Ok(Self(name.to_owned())),
///             None => Err(HandlerError::exposed("the request names no tenant")),
///         }
///     }
/// }
/// ```
pub trait FromContext: Sized {
    /// Extracts the value for one call.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not available. The call then fails with this error before the handler runs.
    fn from_context(context: &Context) -> Result<Self, HandlerError>;

    /// Checks at start-up that calls will find the state they need.
    ///
    /// # Errors
    ///
    /// If state is missing, returns a message that explains how to provide it.
    fn check(states: &States) -> Result<(), String> {
        let _ = states;
        Ok(())
    }
}

impl FromContext for Context {
    fn from_context(context: &Context) -> Result<Self, HandlerError> {
        Ok(context.clone())
    }
}

/// The caller's principal. Use `Option<Principal>` to also serve callers without credentials, such as those connected
/// through standard input and output.
impl FromContext for Principal {
    fn from_context(context: &Context) -> Result<Self, HandlerError> {
        let principal = context.principal().cloned();
        principal.ok_or_else(|| {
            HandlerError::exposed(
                "this is only for callers with credentials, and the request has none",
            )
        })
    }
}

/// The caller, with or without credentials.
impl FromContext for Caller {
    fn from_context(context: &Context) -> Result<Self, HandlerError> {
        Ok(context.caller().clone())
    }
}

/// Injects `None` if the value is not available.
impl<T: FromContext> FromContext for Option<T> {
    fn from_context(context: &Context) -> Result<Self, HandlerError> {
        Ok(T::from_context(context).ok())
    }
}
