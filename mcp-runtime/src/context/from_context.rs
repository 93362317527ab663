//! Parameters that are injected into handlers.

use crate::context::{Caller, Context, Principal, States};
use crate::handler::handler_error::HandlerError;

/// A value that is injected into a handler in addition to its arguments.
///
/// ```
/// use mcp_runtime::{Context, FromContext, HandlerError};
///
/// /// The tenant of the request, as its access token names it.
/// struct Tenant(String);
///
/// impl FromContext for Tenant {
///     fn from_context(context: &Context) -> Result<Self, HandlerError> {
///         let claims = context.principal().map(|who| who.claims());
///         match claims.and_then(|claims| claims.get("tenant")?.as_str()) {
///             Some(name) => Ok(Self(name.to_owned())),
///             None => Err(HandlerError::exposed("the access token names no tenant")),
///         }
///     }
/// }
/// ```
///
/// Implement [`AsyncFromContext`] instead if the value must be awaited.
pub trait FromContext: Sized {
    /// Extracts the value for one call.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not available. The call then fails with this error before the handler runs.
    fn from_context(context: &Context) -> Result<Self, HandlerError>;

    /// Checks at startup that calls will find the state they need.
    ///
    /// # Errors
    ///
    /// If state is missing, returns a message that explains how to provide it.
    fn check(states: &States) -> Result<(), String> {
        let _ = states;
        Ok(())
    }
}

/// A value that is injected into a handler once it is available, for example after a database lookup.
///
/// This is the asynchronous counterpart of [`FromContext`], which is cheaper if the value does not need to be awaited.
/// A type can implement only one of them.
///
/// ```
/// use mcp_runtime::prelude::*;
/// use mcp_runtime::{AsyncFromContext, Principal};
///
/// # struct Database;
/// # impl Database { async fn tenant(&self, _: &str) -> std::io::Result<Option<String>> { Ok(None) } }
/// /// The tenant that the caller belongs to.
/// struct Tenant(String);
///
/// impl AsyncFromContext for Tenant {
///     async fn from_context(ctx: &Context) -> Result<Self> {
///         let database = State::<Database>::from_context(ctx)?;
///         let who = Principal::from_context(ctx)?;
///         match database.tenant(who.subject()).await? {
///             Some(tenant) => Ok(Self(tenant)),
///             None => bail!("{} belongs to no tenant", who.subject()),
///         }
///     }
///
///     fn check(states: &mcp_runtime::States) -> Result<(), String> {
///         State::<Database>::check(states)
///     }
/// }
/// ```
///
/// The future is dropped when the call is cancelled. The values of all such parameters are awaited one after another
/// before the arguments are decoded. Functions that [list resources](crate::listing) cannot have such parameters.
pub trait AsyncFromContext: Sized + Send + 'static {
    /// Extracts the value for one call.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not available. The call then fails with this error before the handler runs.
    fn from_context(context: &Context) -> impl Future<Output = Result<Self, HandlerError>> + Send;

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

/// Injects `None` if the value is not available.
impl<T: AsyncFromContext> AsyncFromContext for Option<T> {
    async fn from_context(context: &Context) -> Result<Self, HandlerError> {
        Ok(T::from_context(context).await.ok())
    }

    fn check(states: &States) -> Result<(), String> {
        // A missing value is not an error here, but the check also records the values that must be created first.
        let _ = T::check(states);
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
                "this is only for callers with credentials, but the request has none",
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

    fn check(states: &States) -> Result<(), String> {
        // A missing value is not an error here, but the check also records the values that must be created first.
        let _ = T::check(states);
        Ok(())
    }
}
