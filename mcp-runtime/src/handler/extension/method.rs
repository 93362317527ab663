//! A method of an extension, with its handler.

use std::any::TypeId;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::context::Context;
use crate::handler::call::{CallOutput, running};
use crate::handler::dynamic::{Arguments, DynamicHandler, guarded};
use crate::handler::extension_result::IntoExtensionResult;
use crate::handler::handler_error::HandlerError;
use crate::jsonrpc::ErrorObject;

/// A method that clients can call, for [`Extension::method`](crate::extension::Extension::method).
///
/// Calls to the method are subject to the same limits, authorization and middleware as tool calls, and recorded like them. A handler
/// cannot ask the client questions, because only calls to tools, prompts and resources may be answered with questions.
pub struct ExtensionMethod {
    pub(crate) name: String,
    pub(crate) mirrored_name: Option<String>,
    pub(crate) requires_name_header: bool,
    pub(crate) exists_in: MethodVersions,
    pub(crate) forwards_questions: bool,
    /// `true` if the method belongs to the framework, so that the author's middleware does not see its calls.
    pub(crate) is_built_in: bool,
    pub(crate) handler: DynamicHandler,
}

/// The protocol versions of an extension in which a method exists.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MethodVersions {
    All,
    /// The versions in which the extension's additions belong to the core protocol.
    Core,
    /// All other versions.
    Extension,
}

guarded!(ExtensionMethod, handler);

impl ExtensionMethod {
    /// Creates a method with this name, such as `garden/water`, and its handler.
    ///
    /// The handler receives the request's `params` without `_meta`. Parameters that do not match `P` cause error
    /// -32602. The type determines whether unknown members are ignored, so that newer clients can send more members;
    /// `#[data]` types reject them. If the method has no parameters, use `()`, which ignores all members.
    pub fn new<P, F, R>(
        name: impl Into<String>,
        handler: impl Fn(P, Context) -> F + Send + Sync + 'static,
    ) -> Self
    where
        P: DeserializeOwned + Send + 'static,
        F: Future<Output = R> + Send + 'static,
        R: IntoExtensionResult,
    {
        let handler = Arc::new(handler);
        Self {
            name: name.into(),
            mirrored_name: None,
            requires_name_header: true,
            exists_in: MethodVersions::All,
            forwards_questions: false,
            is_built_in: false,
            handler: DynamicHandler::new(move |arguments, context| {
                let handler = Arc::clone(&handler);
                running(async move {
                    let result = handler(read_params(arguments)?, context).await;
                    result.into_extension_result().map(CallOutput::Extension)
                })
            }),
        }
    }

    /// Sets the member of `params` that the `Mcp-Name` HTTP header mirrors. By default, the header is not used for this
    /// method. The member must be a string; a request without the header, or with a different value in the
    /// header, receives error -32020.
    ///
    /// Source: revision 2026-07-28, basic/transports, "Standard Request Headers".
    #[must_use]
    pub fn mirrored_name(mut self, member: impl Into<String>) -> Self {
        self.mirrored_name = Some(member.into());
        self
    }

    /// Accepts requests without the `Mcp-Name` header, for clients that do not know that the extension requires it. A
    /// header that differs from the member is still an error. By default, the header is required if there is a
    /// [`mirrored_name`](Self::mirrored_name).
    #[must_use]
    pub fn optional_name_header(mut self) -> Self {
        self.requires_name_header = false;
        self
    }

    /// Makes the method exist only in the protocol versions in which it belongs to the core protocol
    /// ([`Extension::core_in`](crate::extension::Extension::core_in)).
    #[must_use]
    pub fn core_only(mut self) -> Self {
        self.exists_in = MethodVersions::Core;
        self
    }

    /// Makes the method exist only in the protocol versions in which it belongs to the extension, not in the versions
    /// set with [`Extension::core_in`](crate::extension::Extension::core_in).
    #[must_use]
    pub fn extension_only(mut self) -> Self {
        self.exists_in = MethodVersions::Extension;
        self
    }

    /// Lets the handler forward questions from [background calls](crate::extension::BackgroundCall) to legacy clients,
    /// with [`Context::forward_question`](crate::Context::forward_question).
    #[must_use]
    pub fn forwards_questions(mut self) -> Self {
        self.forwards_questions = true;
        self
    }
}

impl ExtensionMethod {
    /// Marks a method of the framework. Its calls bypass middleware, as lists do.
    pub(crate) fn built_in(mut self) -> Self {
        self.is_built_in = true;
        self
    }

    /// Makes calls start without the server's state, for methods of the framework.
    pub(crate) fn without_state(mut self) -> Self {
        self.handler = self.handler.without_state();
        self
    }
}

/// Reads a method's parameters.
fn read_params<P: DeserializeOwned + 'static>(
    Arguments(mut params): Arguments,
) -> Result<P, HandlerError> {
    params.shift_remove("_meta");
    // A method without parameters ignores all members.
    let is_unit = TypeId::of::<P>() == TypeId::of::<()>();
    let params = if is_unit {
        Value::Null
    } else {
        Value::Object(params)
    };
    serde_json::from_value(params).map_err(|error| {
        HandlerError::protocol(ErrorObject::invalid_params(format!(
            "the parameters are not valid: {error}"
        )))
    })
}

impl fmt::Debug for ExtensionMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExtensionMethod")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
