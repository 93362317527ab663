//! How a handler fails: with text for the model, with a cause only the log sees, or with a protocol error.

use std::any::{Any, TypeId};
use std::collections::HashSet;
use std::error::Error as StdError;
use std::fmt;
use std::sync::LazyLock;

use crate::context::AskError;
use crate::handler::check::Fault;
use crate::jsonrpc::ErrorObject;

/// The result of a handler. Any error turns into [`ToolError`] with `?`.
pub type Result<T, E = ToolError> = std::result::Result<T, E>;

/// Why a handler failed.
///
/// | made by | the client sees |
/// |---|---|
/// | [`bail!`](crate::bail), [`ToolError::shown`], [`ResultExt::shown`], a `String` or `&'static str` | that text: a tool result with `isError`, or the message of a JSON-RPC error for prompts and resources |
/// | `?` on an error type that carries [`#[shown]`](macro@crate::shown) | its text, likewise |
/// | `?` on an [`AskError`] | why the client gave no answer; error -32021 if it cannot be asked (2026-07-28) |
/// | `?` on any other error | "internal error" and an id; the cause is in the log under the same id |
/// | [`ToolError::protocol`] | that JSON-RPC error |
///
/// So what a handler returns as `anyhow::Result` is hidden from the model, and `.shown()?` and `bail!` of this crate are shown.
///
/// It is not itself a [`std::error::Error`]: that is what lets `?` convert every error type into it.
pub struct ToolError(pub(crate) Repr);

pub(crate) enum Repr {
    Shown(String),
    Opaque(Box<dyn StdError + Send + Sync>),
    /// The result cannot be written as JSON.
    Unwritable(serde_json::Error),
    Protocol(ErrorObject),
    /// It may be tried again later: text with when for the model, otherwise the error.
    Busy(ErrorObject),
    /// Everything that is wrong with the arguments.
    Arguments(Vec<Fault>),
    /// The resource does not exist, and what there is to say of that; the code differs by revision.
    ResourceNotFound(Option<String>),
}

impl ToolError {
    /// A failure whose text the model reads. Say what to change.
    pub fn shown(text: impl fmt::Display) -> Self {
        Self(Repr::Shown(text.to_string()))
    }

    /// A failure whose cause only the log sees.
    pub fn opaque(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self(Repr::Opaque(cause.into()))
    }

    /// A failure of the request itself, as a JSON-RPC error.
    ///
    /// Its code is best one outside of -32768 to -32000, which belong to JSON-RPC and the protocol. Of those, a handler may use
    ///
    /// | code | in protocol versions |
    /// |---|---|
    /// | -32602, invalid parameters | all |
    /// | -32603, internal error | all |
    /// | -32002, resource not found | before 2026-07-28, where it becomes -32602 |
    /// | -32042, URL elicitation required, with `data.elicitations` | 2025-11-25 |
    /// | -32021, missing capability, with `data.requiredCapabilities` | from 2026-07-28 |
    ///
    /// Any other, and these in other versions, says something to the client that is not so, such as that there is no such method:
    /// it is sent as -32603 with the same message and data, and the log names the code that was meant. Pass errors of other servers
    /// on with care.
    #[must_use]
    pub fn protocol(error: ErrorObject) -> Self {
        Self(Repr::Protocol(error))
    }

    /// For resources and templates: there is nothing at this address. Returning `None` does the same.
    ///
    /// Wire: -32002 in the legacy era, -32602 from 2026-07-28, both with `data.uri`.
    #[must_use]
    pub fn resource_not_found() -> Self {
        Self(Repr::ResourceNotFound(None))
    }

    /// For resources and templates: there is nothing at this address, and this is what the reader should know: which address
    /// was meant, what to do first. On the wire as [`resource_not_found`](Self::resource_not_found).
    pub fn no_resource(text: impl fmt::Display) -> Self {
        Self(Repr::ResourceNotFound(Some(text.to_string())))
    }

    /// A fault of the framework.
    pub(crate) fn bug(what: &'static str) -> Self {
        Self::opaque(format!("{what}; this is a bug in mcp-runtime"))
    }
}

impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Shown(text) => f.debug_tuple("Shown").field(text).finish(),
            Repr::Opaque(cause) => f.debug_tuple("Opaque").field(cause).finish(),
            Repr::Unwritable(error) => f.debug_tuple("Unwritable").field(error).finish(),
            Repr::Protocol(error) => f.debug_tuple("Protocol").field(error).finish(),
            Repr::Busy(error) => f.debug_tuple("Busy").field(error).finish(),
            Repr::Arguments(faults) => f.debug_tuple("Arguments").field(faults).finish(),
            Repr::ResourceNotFound(None) => f.write_str("ResourceNotFound"),
            Repr::ResourceNotFound(Some(text)) => {
                f.debug_tuple("ResourceNotFound").field(text).finish()
            }
        }
    }
}

impl<E> From<E> for ToolError
where
    E: Into<Box<dyn StdError + Send + Sync>> + 'static,
{
    fn from(error: E) -> Self {
        let any: &dyn Any = &error;
        if is_shown(any.type_id()) {
            let error: Box<dyn StdError + Send + Sync> = error.into();
            return Self::shown(format_args!("{error:#}"));
        }
        if let Some(text) = any.downcast_ref::<String>() {
            return Self::shown(text);
        }
        if let Some(text) = any.downcast_ref::<&'static str>() {
            return Self::shown(text);
        }
        if let Some(error) = any.downcast_ref::<AskError>() {
            return match error.protocol() {
                Some(error) => Self::protocol(error.clone()),
                None => Self::shown(error),
            };
        }
        Self::opaque(error)
    }
}

/// An error type that carries `#[shown]`. Made by the macro only.
#[derive(Debug)]
pub struct ShownError(TypeId);

impl ShownError {
    /// The type.
    #[must_use]
    pub const fn of<E: MayBeShown>() -> Self {
        Self(TypeId::of::<E>())
    }
}

inventory::collect!(ShownError);

/// What may carry `#[shown]`: every error type. It is here for what the compiler says of others.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be `#[shown]`: it needs `Display` and `std::error::Error`, and to be `Send` and `Sync`",
    label = "not an error type",
    note = "implement `Display` and `std::error::Error` for it, for example with `#[derive(Debug, thiserror::Error)]`"
)]
pub trait MayBeShown: 'static {}

#[diagnostic::do_not_recommend]
impl<E: StdError + Send + Sync + 'static> MayBeShown for E {}

fn is_shown(ty: TypeId) -> bool {
    static SHOWN: LazyLock<HashSet<TypeId>> = LazyLock::new(|| {
        inventory::iter::<ShownError>()
            .map(|shown| shown.0)
            .collect()
    });
    SHOWN.contains(&ty)
}

/// What may stand as the error of a handler's `Result`.
///
/// Implemented for [`ToolError`] and everything that converts into it: every `Error + Send + Sync + 'static`,
/// `Box<dyn Error + Send + Sync>`, `anyhow::Error`, `String`, `&'static str`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of a handler",
    label = "not an error type",
    note = "implement `std::error::Error` for it, or return `mcp_runtime::Result<…>` and convert with `?`, `.shown()?` or `bail!`"
)]
pub trait IntoToolError {
    /// The failure.
    fn into_tool_error(self) -> ToolError;
}

#[diagnostic::do_not_recommend]
impl<E: Into<ToolError>> IntoToolError for E {
    fn into_tool_error(self) -> ToolError {
        self.into()
    }
}

/// Shows an error to the model, on purpose.
pub trait ResultExt<T> {
    /// Turns the error into text the model reads.
    ///
    /// # Errors
    ///
    /// The error of `self`, as its `Display` text in the alternate form: that of `anyhow::Error` includes the causes.
    fn shown(self) -> Result<T>;
}

impl<T, E: fmt::Display> ResultExt<T> for std::result::Result<T, E> {
    fn shown(self) -> Result<T> {
        self.map_err(|error| ToolError::shown(format_args!("{error:#}")))
    }
}

/// Ends the handler with a failure whose text the model reads.
///
/// Takes what `format!` takes.
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
        return ::core::result::Result::Err($crate::ToolError::shown(::core::format_args!($($message)+)))
    };
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::{Repr, ResultExt as _};

    #[test]
    fn what_is_shown_of_an_error_with_causes_includes_them() {
        let error = Err::<(), _>(std::io::Error::other("disk full"))
            .context("cannot save")
            .shown()
            .unwrap_err();
        assert!(matches!(error.0, Repr::Shown(text) if text == "cannot save: disk full"));
    }
}
