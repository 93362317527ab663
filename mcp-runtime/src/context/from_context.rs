//! Injected parameters.

use crate::context::{Caller, Context, Principal, States};
use crate::handler::tool_error::ToolError;

/// What a handler can ask for besides its arguments.
///
/// ```
/// use mcp_runtime::{Context, FromContext, ToolError};
///
/// /// Whom the request is for, as the client says in `_meta`.
/// struct Tenant(String);
///
/// impl FromContext for Tenant {
///     fn from_context(context: &Context) -> Result<Self, ToolError> {
///         match context.meta().get("com.example/tenant").and_then(|name| name.as_str()) {
///             Some(name) => Ok(Self(name.to_owned())),
///             None => Err(ToolError::shown("the request names no tenant")),
///         }
///     }
/// }
/// ```
pub trait FromContext: Sized {
    /// Takes the value for one call.
    ///
    /// # Errors
    ///
    /// Why it cannot be had; the call fails with it before the handler runs.
    fn from_context(context: &Context) -> Result<Self, ToolError>;

    /// At start-up: whether calls will find what they need.
    ///
    /// # Errors
    ///
    /// What is missing and how to provide it.
    fn check(states: &States) -> Result<(), String> {
        let _ = states;
        Ok(())
    }
}

impl FromContext for Context {
    fn from_context(context: &Context) -> Result<Self, ToolError> {
        Ok(context.clone())
    }
}

/// Who calls, by their credentials. Take `Option<Principal>` to serve callers without, as on standard input and output.
impl FromContext for Principal {
    fn from_context(context: &Context) -> Result<Self, ToolError> {
        let principal = context.principal().cloned();
        principal.ok_or_else(|| {
            ToolError::shown("this is for callers with credentials, and none came with the request")
        })
    }
}

/// Who calls, also if it is nobody in particular.
impl FromContext for Caller {
    fn from_context(context: &Context) -> Result<Self, ToolError> {
        Ok(context.caller().clone())
    }
}

/// `None` when the value cannot be had.
impl<T: FromContext> FromContext for Option<T> {
    fn from_context(context: &Context) -> Result<Self, ToolError> {
        Ok(T::from_context(context).ok())
    }
}
