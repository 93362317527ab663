//! Errors from handlers, which contain text for the model, a cause that is only logged, or a protocol error.

use std::any::Any;
use std::error::Error as StdError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fmt, io};

use mcp_schema::explain::Fault;

use crate::context::AskError;
use crate::handler::rules;
use crate::jsonrpc::ErrorObject;
use crate::protocol::errors;

/// The result of a handler. The `?` operator converts any error into [`HandlerError`].
pub type Result<T, E = HandlerError> = std::result::Result<T, E>;

/// An error returned by a handler.
///
/// | created by | the client sees |
/// |---|---|
/// | `bail!`, [`HandlerError::exposed`], [`ResultExt::expose`], a `String` or `&'static str` | the text: in a tool result with `isError` or, for prompts and resources, as the message of a JSON-RPC error |
/// | `?` on an error type annotated with `#[expose]`, or on an error caused by such an error | its text, in the same way |
/// | `?` on an [`AskError`] | the reason why the client did not answer, or error -32021 if the client does not support the question (2026-07-28) |
/// | `?` on any other error | "internal error" and an id; the cause is logged under the same id |
/// | [`HandlerError::invalid_token`], [`HandlerError::insufficient_scope`] | a challenge to authorize again |
/// | [`HandlerError::protocol`] | the given JSON-RPC error |
///
/// Errors that a handler returns in an `anyhow::Result` are therefore hidden from the model, including those from
/// `anyhow::bail!`; a log message mentions this once. To expose an error, use `.expose()?` or this crate's `bail!`. To
/// let the model read every error of a server, call `Server::expose_errors`.
///
/// This type deliberately does not implement [`std::error::Error`], so that `?` can convert every error type into it.
pub struct HandlerError(pub(crate) HandlerErrorRepr);

pub(crate) enum HandlerErrorRepr {
    /// The text for the model.
    Exposed(String),
    Opaque(Box<dyn StdError + Send + Sync>),
    /// The result cannot be serialized as JSON.
    Unwritable(serde_json::Error),
    Protocol(ErrorObject),
    /// The call may be retried later. Tools return a message that tells the model when to retry; other calls fail with
    /// the error.
    Busy(ErrorObject),
    /// All errors in the arguments.
    Arguments(Vec<Fault>),
    /// The caller must authorize again. Holds the error for the client.
    Reauthorize(ErrorObject),
    /// The resource does not exist. Holds an optional message; the error code depends on the protocol version.
    ResourceNotFound(Option<String>),
}

impl HandlerError {
    /// Creates an error whose text is shown to the model. The text should explain to the model what to change.
    pub fn exposed(text: impl fmt::Display) -> Self {
        Self(HandlerErrorRepr::Exposed(text.to_string()))
    }

    /// Creates an error whose cause is only logged.
    pub fn opaque(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self(HandlerErrorRepr::Opaque(cause.into()))
    }

    /// Creates an error for a call that may be retried later.
    #[doc(hidden)]
    #[must_use]
    pub const fn busy(error: ErrorObject) -> Self {
        Self(HandlerErrorRepr::Busy(error))
    }

    /// Returns `true` if the call may be retried later.
    #[doc(hidden)]
    #[must_use]
    pub const fn is_busy(&self) -> bool {
        matches!(self.0, HandlerErrorRepr::Busy(_))
    }

    /// Returns the text for the model, if any.
    #[doc(hidden)]
    pub fn exposed_text_mut(&mut self) -> Option<&mut String> {
        match &mut self.0 {
            HandlerErrorRepr::Exposed(text) => Some(text),
            _ => None,
        }
    }

    /// Converts the error into an error about the request, for requests whose errors cannot be sent as tool results.
    #[doc(hidden)]
    #[must_use]
    pub fn into_protocol(self) -> Self {
        match self.0 {
            HandlerErrorRepr::Exposed(text) => Self::protocol(ErrorObject::internal(text)),
            HandlerErrorRepr::Busy(error) => Self::protocol(error),
            HandlerErrorRepr::Opaque(cause) => {
                tracing::error!(%cause, "a request failed");
                Self::protocol(ErrorObject::internal("internal error"))
            }
            other => Self(other),
        }
    }

    /// Returns the cause of an error that is only logged, which middleware can use, for example, to decide whether to
    /// retry.
    #[must_use]
    pub fn cause(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.0 {
            HandlerErrorRepr::Opaque(cause) => Some(&**cause),
            _ => None,
        }
    }

    /// Creates an error about the request itself, which is sent as a JSON-RPC error.
    ///
    /// Use a code outside the range from -32768 to -32000, which is reserved for JSON-RPC and the protocol. A handler
    /// may use only the following codes from this range:
    ///
    /// | code | in protocol versions |
    /// |---|---|
    /// | -32602, invalid parameters | all |
    /// | -32603, internal error | all |
    /// | -32002, resource not found | before 2026-07-28; in later versions, it is sent as -32602 |
    /// | -32042, URL elicitation required, with `data.elicitations` | 2025-11-25 |
    /// | -32021, missing capability, with `data.requiredCapabilities` | from 2026-07-28 |
    ///
    /// Any other code in this range, or one of these codes in another version, would mislead the client, for example
    /// into believing that the method does not exist. Such a code is replaced with -32603, while the message and data
    /// remain unchanged and the original code is logged. Be careful when you forward errors from other servers.
    #[must_use]
    pub fn protocol(error: ErrorObject) -> Self {
        Self(HandlerErrorRepr::Protocol(error))
    }

    /// Creates the error for an access token that is no longer accepted, usually a token for another service that this
    /// server holds for the caller.
    ///
    /// The client should have its user reauthorize. Over HTTP, the response has status 401 and a challenge with
    /// `error="invalid_token"`, like the response to a request with an invalid token. If the response has already begun
    /// as an event stream, the stream ends with the error, and the next request with the same credentials is answered
    /// with the challenge, but only once. On other transports, the client receives an error with code 401.
    ///
    /// ```
    /// # use mcp_runtime::prelude::*;
    /// # async fn fetch(token: &str) -> (u16, String) { (200, token.to_owned()) }
    /// # async fn issues(token: &str) -> Result<String> {
    /// match fetch(token).await {
    ///     (401, _) => Err(HandlerError::invalid_token()),
    ///     (403, _) => Err(HandlerError::insufficient_scope(["issues:read"])),
    ///     (_, body) => Ok(body),
    /// }
    /// # }
    /// ```
    ///
    /// Source: RFC 6750, section 3.1.
    #[must_use]
    pub fn invalid_token() -> Self {
        Self(HandlerErrorRepr::Reauthorize(errors::invalid_token()))
    }

    /// Creates the error for scopes that must be granted to the caller before the call can succeed. List all of them,
    /// including those that the caller already has. Scopes that tokens cannot contain are omitted.
    ///
    /// Works like [`invalid_token`](Self::invalid_token), but with status 403 and a challenge with
    /// `error="insufficient_scope"`. If the scopes are known in advance, use `scopes(…)` on the definition.
    pub fn insufficient_scope(scopes: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let mut needed = Vec::new();
        for scope in scopes {
            match rules::scope(scope.as_ref()).into_result() {
                Ok(()) => needed.push(scope),
                Err(problem) => tracing::error!(problem, "a handler requires an invalid scope"),
            }
        }
        let needed: Vec<&str> = needed.iter().map(AsRef::as_ref).collect();
        Self(HandlerErrorRepr::Reauthorize(errors::insufficient_scope(
            &needed,
        )))
    }

    /// Creates the error that a resource or template returns if there is no resource at the URI. Returning `None` has
    /// the same effect.
    ///
    /// On the wire, the error code is -32002 in legacy protocol versions and -32602 from 2026-07-28, both with
    /// `data.uri`.
    #[must_use]
    pub fn resource_not_found() -> Self {
        Self(HandlerErrorRepr::ResourceNotFound(None))
    }

    /// Creates the same error as [`resource_not_found`](Self::resource_not_found), but with a custom message that can,
    /// for example, suggest the intended URI.
    pub fn no_resource(text: impl fmt::Display) -> Self {
        Self(HandlerErrorRepr::ResourceNotFound(Some(text.to_string())))
    }

    /// Creates an error for a bug in the framework.
    #[doc(hidden)]
    #[must_use]
    pub fn framework_bug(what: &'static str) -> Self {
        Self::opaque(format!("{what}; this is a bug in mcp-runtime"))
    }
}

impl fmt::Debug for HandlerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            HandlerErrorRepr::Exposed(text) => f.debug_tuple("Exposed").field(text).finish(),
            HandlerErrorRepr::Opaque(cause) => f.debug_tuple("Opaque").field(cause).finish(),
            HandlerErrorRepr::Unwritable(error) => {
                f.debug_tuple("Unwritable").field(error).finish()
            }
            HandlerErrorRepr::Protocol(error) => f.debug_tuple("Protocol").field(error).finish(),
            HandlerErrorRepr::Reauthorize(error) => {
                f.debug_tuple("Reauthorize").field(error).finish()
            }
            HandlerErrorRepr::Busy(error) => f.debug_tuple("Busy").field(error).finish(),
            HandlerErrorRepr::Arguments(faults) => {
                f.debug_tuple("Arguments").field(faults).finish()
            }
            HandlerErrorRepr::ResourceNotFound(None) => f.write_str("ResourceNotFound"),
            HandlerErrorRepr::ResourceNotFound(Some(text)) => {
                f.debug_tuple("ResourceNotFound").field(text).finish()
            }
        }
    }
}

impl<E> From<E> for HandlerError
where
    E: Into<Box<dyn StdError + Send + Sync>> + 'static,
{
    fn from(error: E) -> Self {
        let any: &dyn Any = &error;
        if let Some(text) = any.downcast_ref::<String>() {
            return Self::exposed(text);
        }
        if let Some(text) = any.downcast_ref::<&'static str>() {
            return Self::exposed(text);
        }
        if let Some(error) = any.downcast_ref::<AskError>() {
            return match error.protocol_error() {
                Some(error) => Self::protocol(error.clone()),
                None => Self::exposed(error),
            };
        }
        let error: Box<dyn StdError + Send + Sync> = error.into();
        if let Some(text) = text_for_model(&*error) {
            return Self::exposed(text);
        }
        hint_at_hidden_messages(std::any::type_name::<E>());
        Self::opaque(error)
    }
}

/// Logs, once, that error messages written by the author are also hidden if they are in a library's error type.
fn hint_at_hidden_messages(error_type: &str) {
    static HINTED: AtomicBool = AtomicBool::new(false);
    let is_report = ["anyhow::", "eyre::"]
        .iter()
        .any(|name| error_type.starts_with(name));
    if is_report && !HINTED.swap(true, Ordering::Relaxed) {
        tracing::warn!(
            "a handler failed with `{error_type}`, whose message is hidden from the model, even if it was written with a \
             macro such as `anyhow::bail!`: use `mcp_runtime::bail!` or `.expose()?`, or `Server::expose_errors` for the \
             whole server"
        );
    }
}

/// A type that can be the error in a handler's `Result`.
///
/// Implemented for [`HandlerError`] and all types that convert into it: every `Error + Send + Sync + 'static`, `Box<dyn
/// Error + Send + Sync>`, `anyhow::Error`, `String`, `&'static str`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of a handler",
    label = "not an error type",
    note = "implement `std::error::Error` for it, or return `mcp_runtime::Result<…>` and convert with `?`, `.expose()?` or `bail!`"
)]
pub trait IntoHandlerError {
    /// Converts the error.
    fn into_handler_error(self) -> HandlerError;
}

#[diagnostic::do_not_recommend]
impl<E: Into<HandlerError>> IntoHandlerError for E {
    fn into_handler_error(self) -> HandlerError {
        self.into()
    }
}

/// Deliberately exposes an error to the model.
pub trait ResultExt<T> {
    /// Converts the error into text that is shown to the model.
    ///
    /// # Errors
    ///
    /// Returns the `Display` text of the error in `self`, using the alternate form. For `anyhow::Error`, this form
    /// includes the causes.
    fn expose(self) -> Result<T>;
}

impl<T, E: fmt::Display> ResultExt<T> for std::result::Result<T, E> {
    fn expose(self) -> Result<T> {
        self.map_err(|error| HandlerError::exposed(format_args!("{error:#}")))
    }
}

/// Returns from the handler with an error whose text is shown to the model.
///
/// Takes the same arguments as `format!`.
///
/// ```
/// # use mcp_runtime::{bail, Result};
/// fn share(cake: u32, guests: u32) -> Result<u32> {
///     if guests == 0 { bail!("nobody to share {cake} pieces with; name at least one guest"); }
///     Ok(cake / guests)
/// }
/// ```
#[macro_export]
macro_rules! bail {
    ($($message:tt)+) => {
        return ::core::result::Result::Err($crate::handler::handler_error::HandlerError::exposed(::core::format_args!($($message)+)))
    };
}

// --- Finds errors marked with `#[expose]` in an error's chain of causes.

/// A function that returns an error's text if the error's type and variant are marked.
#[derive(Debug)]
pub struct ExposedError(pub fn(&(dyn StdError + 'static)) -> Option<String>);

inventory::collect!(ExposedError);

/// Maximum number of causes to examine.
const MAX_CAUSES: usize = 64;

/// Returns the text that the model may read: the text of the first marked error in the chain of causes starting with
/// `error`.
fn text_for_model(error: &(dyn StdError + 'static)) -> Option<String> {
    let errors = std::iter::successors(Some(error), |&error| cause(error));
    errors.take(MAX_CAUSES).find_map(|error| {
        let mut marked = inventory::iter::<ExposedError>();
        marked.find_map(|marked| (marked.0)(error))
    })
}

/// Returns the cause of an error. An I/O error that was made from another error names that error's source as its own, and
/// not the error itself.
fn cause<'e>(error: &'e (dyn StdError + 'static)) -> Option<&'e (dyn StdError + 'static)> {
    let io_error: Option<&io::Error> = error.downcast_ref();
    match io_error.and_then(io::Error::get_ref) {
        Some(error) => Some(error),
        None => error.source(),
    }
}

/// Returns the text of an error of type `E` for which the function returns `true`.
pub fn exposed_text<E: MayBeExposed>(
    error: &(dyn StdError + 'static),
    is_exposed: fn(&E) -> bool,
) -> Option<String> {
    E::exposed_text(error, is_exposed)
}

/// A type that can be annotated with `#[expose]`, as every error type can. This trait exists only to improve the
/// compiler's message for other types.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be `#[expose]`: it must implement `Display`, `std::error::Error`, `Send` and `Sync`",
    label = "not an error type",
    note = "implement `Display` and `std::error::Error` for it, for example with `#[derive(Debug, thiserror::Error)]`"
)]
pub trait MayBeExposed: Sized + 'static {
    /// Returns the text of an error of this type for which the function returns `true`.
    fn exposed_text(
        error: &(dyn StdError + 'static),
        is_exposed: fn(&Self) -> bool,
    ) -> Option<String>;
}

#[diagnostic::do_not_recommend]
impl<E: StdError + Send + Sync + 'static> MayBeExposed for E {
    fn exposed_text(
        error: &(dyn StdError + 'static),
        is_exposed: fn(&Self) -> bool,
    ) -> Option<String> {
        let error: &E = error.downcast_ref()?;
        is_exposed(error).then(|| format!("{error:#}"))
    }
}

/// The reason why a call was not started.
#[derive(Debug)]
pub enum CallRefusal {
    /// The arguments are invalid. Contains all errors.
    Arguments(Vec<Fault>),
    /// An injected value is unavailable, or there is a bug in the framework.
    Error(HandlerError),
}

impl From<HandlerError> for CallRefusal {
    fn from(error: HandlerError) -> Self {
        Self::Error(error)
    }
}

impl From<CallRefusal> for HandlerError {
    fn from(refusal: CallRefusal) -> Self {
        match refusal {
            CallRefusal::Arguments(faults) => Self(HandlerErrorRepr::Arguments(faults)),
            CallRefusal::Error(error) => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use crate::handler::handler_error::{HandlerErrorRepr, ResultExt as _};

    #[test]
    fn an_exposed_error_includes_its_causes() {
        let error = Err::<(), _>(std::io::Error::other("disk full"))
            .context("cannot save")
            .expose()
            .unwrap_err();
        assert!(
            matches!(error.0, HandlerErrorRepr::Exposed(text) if text == "cannot save: disk full")
        );
    }
}
