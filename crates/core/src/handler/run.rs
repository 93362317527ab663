//! What an expansion runs: a handler's input, its start, and its result.

use std::any::Any;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use crate::context::Context;
use crate::handler::completion::{Candidates, IntoCompletionResult};
use crate::handler::decode::{Decoder, entries};
use crate::handler::handler_error::{
    CallRefusal, HandlerError, HandlerErrorRepr, IntoHandlerError, Result,
};
use crate::handler::output::{
    IntoPromptResult, IntoResourceResult, IntoToolResult, Json, JsonResult, JsonText,
};
use crate::protocol::ProtocolVersion;
use crate::protocol::encode::{CacheHint, TextGap, one_line};
use crate::types::{CacheScope, CallToolResult, GetPromptResult, Meta, ReadResourceResult};

/// A handler's outcome.
pub type Output = Result<CallOutput, HandlerError>;

/// The result of a successful call, with a variant for each kind of handler.
///
/// Middleware may change this value or create its own; see `Server::middleware`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CallOutput {
    /// A tool's result.
    Tool(CallToolResult),
    /// A prompt's result.
    Prompt(GetPromptResult),
    /// A resource's or template's result.
    Resource(ReadResourceResult),
    /// A completer's candidates, not yet ranked.
    Completion(Candidates),
    /// The result of an extension's method, or an extension's result for a method of the core protocol.
    Extension(ExtensionResult),
    /// The JSON text of a list page's members, as produced by the templates' listers. Never passed to middleware.
    #[doc(hidden)]
    List(String),
}

/// A running handler.
pub type Running = Pin<Box<dyn Future<Output = Output> + Send>>;

/// The work of a handler that blocks its thread.
pub type Blocking = Box<dyn FnOnce() -> Output + Send>;

/// The functions that start a handler. Each function first decodes the arguments and then returns a value that does not
/// contain borrowed data.
#[derive(Clone, Copy, Debug)]
pub enum Run {
    /// Runs the handler to completion.
    Sync(fn(&mut HandlerCall<'_>) -> Result<Output, CallRefusal>),
    /// Returns the handler's future.
    Async(fn(&mut HandlerCall<'_>) -> Result<Running, CallRefusal>),
    /// Returns work that must run on a thread that may block.
    Blocking(fn(&mut HandlerCall<'_>) -> Result<Blocking, CallRefusal>),
}

/// A call whose handler has not started yet.
pub struct HandlerCall<'a> {
    decoder: &'a Decoder,
    arguments: &'a str,
    receiver: Option<&'a Arc<dyn Any + Send + Sync>>,
    context: &'a dyn Fn() -> Context,
}

impl std::fmt::Debug for HandlerCall<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The arguments are the caller's data, which does not belong in a log.
        f.debug_struct("HandlerCall").finish_non_exhaustive()
    }
}

impl<'a> HandlerCall<'a> {
    /// Creates a call with these arguments, a JSON object (`{}` if there are none), and a function that creates the
    /// context on demand.
    pub(crate) fn new(
        decoder: &'a Decoder,
        arguments: &'a str,
        receiver: Option<&'a Arc<dyn Any + Send + Sync>>,
        context: &'a dyn Fn() -> Context,
    ) -> Self {
        Self {
            decoder,
            arguments,
            receiver,
            context,
        }
    }

    /// Fills the slots. There is one slot for each parameter, in order, and each slot is an `Option<T>`.
    ///
    /// # Errors
    ///
    /// Returns all errors in the arguments, or the error for the first injected value that is unavailable.
    pub fn decode(&mut self, slots: &mut [&mut dyn Any]) -> Result<(), CallRefusal> {
        self.decoder.decode(self.arguments, slots, self.context)
    }

    /// Returns the value on which the method is called.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is missing or has a different type, which indicates a bug in the framework.
    pub fn receiver<T: Send + Sync + 'static>(&self) -> Result<Arc<T>, CallRefusal> {
        self.receiver
            .and_then(|receiver| match Arc::clone(receiver).downcast() {
                Ok(value) => Some(value),
                Err(receiver) => receiver.downcast_ref::<Arc<T>>().cloned(),
            })
            .ok_or_else(|| {
                HandlerError::framework_bug("a method was called without its receiver").into()
            })
    }

    /// Returns the error for a slot that is empty although [`decode`](Self::decode) succeeded, which indicates a bug in
    /// the framework.
    #[must_use]
    pub fn lost(&self) -> CallRefusal {
        HandlerError::framework_bug("a decoded argument was lost").into()
    }
}

/// Boxes a handler's future. `reply` converts its result.
///
/// If an author's future is not `Send`, the compiler's error message shows the line with the bound.
pub fn boxed<R, F>(future: F, reply: fn(R) -> Output) -> Running
where
    R: 'static,
    F: Future<Output = R>
        + Send
        // calls run on any thread: drop what is not `Send` before an `.await`, or use the `Send` one (`Arc`, `Mutex`)
        + 'static,
{
    Box::pin(async move { reply(future.await) })
}

/// Boxes a future that converts its own result, because the result may borrow from values that the future owns.
pub fn running<F>(future: F) -> Running
where
    F: Future<Output = Output>
        + Send
        // calls run on any thread: drop what is not `Send` before an `.await`, or use the `Send` one (`Arc`, `Mutex`)
        + 'static,
{
    Box::pin(future)
}

/// Boxes the work of a blocking handler. The work converts its own result.
pub fn blocking<F: FnOnce() -> Output + Send + 'static>(work: F) -> Blocking {
    Box::new(work)
}

/// Creates the module that converts return values from a given kind of handler.
macro_rules! kind {
    ($(#[$doc:meta])* $name:ident, $bound:ident, $method:ident, $variant:ident) => {
        $(#[$doc])*
        pub mod $name {
            use super::{CallOutput, Output, $bound};

            /// Converts the function's return value.
            pub fn reply<R: $bound>(value: R) -> Output {
                value.$method().map(CallOutput::$variant)
            }
        }
    };
}

/// Converts the return values of tools.
pub mod tool {
    use crate::handler::run::{CallOutput, IntoToolResult, JsonResult, JsonText, Output};

    /// Converts the function's return value.
    pub fn reply<R: IntoToolResult>(value: R) -> Output {
        value.into_tool_result().map(CallOutput::Tool)
    }

    /// Converts the function's return value, using its JSON as the text.
    pub fn reply_as_json<R: JsonResult>(value: R) -> Output {
        reply(value)
    }

    /// Converts the function's return value, using a Markdown table as the text.
    pub fn reply_as_table<R: JsonResult>(value: R) -> Output {
        value
            .into_result_with(JsonText::Table)
            .map(CallOutput::Tool)
    }

    /// Converts the function's return value without adding text.
    pub fn reply_without_text<R: JsonResult>(value: R) -> Output {
        value.into_result_with(JsonText::None).map(CallOutput::Tool)
    }
}

kind!(
    /// Converts the return values of prompts.
    prompt, IntoPromptResult, into_prompt_result, Prompt
);

kind!(
    /// Converts the return values of resources and templates.
    resource, IntoResourceResult, into_resource_result, Resource
);

kind!(
    /// Converts the return values of completers.
    completer, IntoCompletionResult, into_completion_result, Completion
);

// --- Results defined by extensions: results of their own methods, and special results for methods of the core protocol.

/// The result of an extension's method, or an extension's result for a method of the core protocol.
///
/// A handler usually returns [`Json`], which becomes a complete result. With this type, a handler can also set the
/// result's type, its `_meta` and its cache hints. It is cheap to clone, so a result that many requests share can be
/// rendered once.
///
/// Wire: an object with the value's members. In 2026-07-28, the object also has `resultType`, `_meta` and, if set,
/// `ttlMs` and `cacheScope`.
///
/// Source: revision 2026-07-28, basic, "Result Types".
#[derive(Clone, Debug)]
pub struct ExtensionResult {
    result_type: Cow<'static, str>,
    members: Arc<RawValue>,
    /// Allocated separately because few results have entries, and calls of every kind move a result of this size.
    meta: Option<Box<Meta>>,
    cache: Option<CacheHint>,
    /// The protocol versions in which the extension exists. Set only if the extension may send this result in place of
    /// a core method's result and the client declares the extension.
    admitted: Option<ExtensionVersions>,
}

const META: &str = "_meta";

const RESULT_TYPE: &str = "resultType";

/// The protocol versions in which an extension exists.
#[derive(Clone, Copy, Debug)]
pub struct ExtensionVersions {
    /// The first version in which this is an extension.
    pub since: ProtocolVersion,
    /// Returns `true` for versions in which the extension's features are part of the core protocol.
    pub core: fn(ProtocolVersion) -> bool,
}

impl ExtensionVersions {
    /// Returns `true` if clients can use the extension's features.
    pub(crate) fn contain(self, version: ProtocolVersion) -> bool {
        self.since <= version || (self.core)(version)
    }
}

impl ExtensionResult {
    /// The type of a final result.
    pub const COMPLETE: &'static str = "complete";

    /// Creates a complete result with the members of `value`. A `_meta` member becomes the result's `_meta`.
    ///
    /// # Errors
    ///
    /// Fails if the value does not serialize to a JSON object, or if it has a `resultType` member, which must be set
    /// with [`result_type`](Self::result_type).
    pub fn new(value: impl Serialize) -> Result<Self> {
        let unwritable = |error| HandlerError(HandlerErrorRepr::Unwritable(error));
        let written = to_raw_value(&value).map_err(unwritable)?;
        let json = written.get();
        let (members, meta) = match entries(json) {
            Ok(members) if is_plain(json, &members) => (written, None),
            Ok(members) => take_meta(members)?,
            Err(_) => take_meta(last_members(json)?)?,
        };
        Ok(Self {
            result_type: Self::COMPLETE.into(),
            members: members.into(),
            meta,
            cache: None,
            admitted: None,
        })
    }

    /// Sets the type of the result. Defaults to `complete`. The extension must declare any other type with
    /// [`Extension::result_type`](crate::extension::Extension::result_type); otherwise, the request fails with an
    /// internal error.
    #[must_use]
    pub fn result_type(mut self, result_type: impl Into<Cow<'static, str>>) -> Self {
        self.result_type = result_type.into();
        self
    }

    /// Adds an entry to the result's `_meta`. Reserved keys are not sent.
    #[must_use]
    pub fn meta(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        let entries = self.meta.get_or_insert_default();
        entries.insert(key.into(), value.into());
        self
    }

    /// Sets how long the result may be cached and which clients may use it. By default, a result has no cache hints.
    /// Cache hints are sent only in 2026-07-28.
    #[must_use]
    pub fn cached(mut self, ttl: Duration, scope: CacheScope) -> Self {
        self.cache = Some(CacheHint { ttl, scope });
        self
    }

    /// Adds members whose values are JSON. The JSON is sent unchanged, except that it is converted to a single line.
    #[doc(hidden)]
    pub fn json_members<'a>(
        mut self,
        members: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self> {
        let unwritable = |error| HandlerError(HandlerErrorRepr::Unwritable(error));
        let mut text = self.members.get().to_owned();
        text.pop();
        for (name, json) in members {
            push_member(&mut text, name, json)?;
        }
        text.push('}');
        self.members = RawValue::from_string(text).map_err(unwritable)?.into();
        Ok(self)
    }

    /// Creates a result from its stored form.
    #[doc(hidden)]
    #[must_use]
    pub fn from_stored(result_type: String, members: Box<RawValue>, meta: Meta) -> Self {
        Self {
            result_type: result_type.into(),
            members: members.into(),
            meta: (!meta.is_empty()).then(|| Box::new(meta)),
            cache: None,
            admitted: None,
        }
    }

    /// Lets the result be sent in place of a core method's result in this protocol version, as it was the first time.
    #[doc(hidden)]
    #[must_use]
    pub fn admitted_in(mut self, version: ProtocolVersion) -> Self {
        self.admit(ExtensionVersions {
            since: version,
            core: |_| false,
        });
        self
    }

    /// Returns the result's type.
    #[doc(hidden)]
    #[must_use]
    pub fn type_name(&self) -> &str {
        &self.result_type
    }

    /// Returns the members, a JSON object.
    #[doc(hidden)]
    #[must_use]
    pub fn members(&self) -> &str {
        self.members.get()
    }

    /// Returns the text for the gap of
    /// [`extension_result_with_gap`](crate::protocol::encode::extension_result_with_gap). All requests that receive
    /// this result share the text. Returns `None` if copying the members is cheaper.
    pub(crate) fn shared_members(&self) -> Option<Bytes> {
        if self.members.get().len() < TextGap::MIN_SHARED_BYTES {
            return None;
        }
        let text = Bytes::from_owner(SharedMembers(Arc::clone(&self.members)));
        text.strip_prefix(b"{\"")?.strip_suffix(b"}")?;
        Some(text.slice(2..text.len().checked_sub(1)?))
    }

    #[doc(hidden)]
    #[must_use]
    pub fn meta_entries(&self) -> Option<&Meta> {
        self.meta.as_deref()
    }

    pub(crate) fn cache_hint(&self) -> Option<CacheHint> {
        self.cache
    }

    /// Allows the result to be sent in place of a core method's result in these protocol versions.
    #[doc(hidden)]
    pub fn admit(&mut self, versions: ExtensionVersions) {
        self.admitted = Some(versions);
    }

    /// Returns `true` if the result may be sent in place of a core method's result.
    pub(crate) fn is_admitted(&self, version: ProtocolVersion) -> bool {
        self.admitted
            .is_some_and(|versions| versions.contain(version))
    }
}

/// Returns `true` if an object can be sent as it is written: on one line, and without members that are treated separately.
fn is_plain(json: &str, members: &[(Cow<'_, str>, &str)]) -> bool {
    let mut names = members.iter().map(|(name, _)| &**name);
    !names.any(|name| matches!(name, META | RESULT_TYPE))
        && matches!(one_line(json), Cow::Borrowed(_))
}

/// Returns the members of an object that [`entries`] does not read, because of its depth or because a name is repeated: of
/// members with the same name, the last one counts.
fn last_members(json: &str) -> Result<Vec<(Cow<'_, str>, &str)>> {
    let members = serde_json::from_str::<BTreeMap<String, &RawValue>>(json);
    let members = members.map_err(|_| {
        HandlerError::opaque("the result of an extension's method must be a JSON object")
    })?;
    let members = members.into_iter();
    Ok(members
        .map(|(name, json)| (name.into(), json.get()))
        .collect())
}

/// Returns a result's members, written anew without `_meta`, and its `_meta`.
fn take_meta(members: Vec<(Cow<'_, str>, &str)>) -> Result<(Box<RawValue>, Option<Box<Meta>>)> {
    let unwritable = |error| HandlerError(HandlerErrorRepr::Unwritable(error));
    let mut meta = None;
    let mut text = String::from("{");
    for (name, json) in members {
        match &*name {
            RESULT_TYPE => {
                return Err(HandlerError::opaque(
                    "`resultType` cannot be a member of a result; set it with `ExtensionResult::result_type`",
                ));
            }
            META => meta = Some(serde_json::from_str(json).map_err(unwritable)?),
            name => push_member(&mut text, name, json)?,
        }
    }
    text.push('}');
    let meta = match meta {
        Some(Value::Object(meta)) if !meta.is_empty() => Some(Box::new(meta)),
        _ => None,
    };
    Ok((RawValue::from_string(text).map_err(unwritable)?, meta))
}

/// Appends a member to an object. Its JSON is converted to a single line.
fn push_member(object: &mut String, name: &str, json: &str) -> Result<()> {
    let name = serde_json::to_string(name);
    let name = name.map_err(|error| HandlerError(HandlerErrorRepr::Unwritable(error)))?;
    if object.len() > 1 {
        object.push(',');
    }
    object.push_str(&name);
    object.push(':');
    object.push_str(&one_line(json));
    Ok(())
}

/// Members shared by several messages.
struct SharedMembers(Arc<RawValue>);

impl AsRef<[u8]> for SharedMembers {
    fn as_ref(&self) -> &[u8] {
        self.0.get().as_bytes()
    }
}

/// A value that the handler of an extension's method can return.
///
/// Implemented for [`Json`] with a value that is an object in JSON, `()` for an empty result, [`ExtensionResult`], and
/// any `Result` of these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned from an extension's method",
    label = "not a result",
    note = "return `Json<T>` with a `T` that serializes as an object, `ExtensionResult` or `()`, or a `Result` of one of these"
)]
pub trait IntoExtensionResult {
    /// Converts the value.
    ///
    /// # Errors
    ///
    /// Fails if the value is an error or cannot be sent.
    fn into_extension_result(self) -> Result<ExtensionResult>;
}

impl IntoExtensionResult for ExtensionResult {
    fn into_extension_result(self) -> Result<ExtensionResult> {
        Ok(self)
    }
}

impl<T: Serialize> IntoExtensionResult for Json<T> {
    fn into_extension_result(self) -> Result<ExtensionResult> {
        ExtensionResult::new(self.0)
    }
}

impl IntoExtensionResult for () {
    fn into_extension_result(self) -> Result<ExtensionResult> {
        ExtensionResult::new(Map::new())
    }
}

impl<T: IntoExtensionResult, E: IntoHandlerError> IntoExtensionResult for Result<T, E> {
    fn into_extension_result(self) -> Result<ExtensionResult> {
        self.map_err(IntoHandlerError::into_handler_error)?
            .into_extension_result()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::handler::run::*;

    // Covers: TASK-05
    #[test]
    fn members_that_are_json_are_sent_as_they_are() {
        let deep = format!("{}{}", "[".repeat(300), "]".repeat(300));
        let exact = "123456789012345678901234567890";
        for (value, start) in [(json!({}), ""), (json!({"a": 1}), r#""a":1,"#)] {
            let result = ExtensionResult::new(value).unwrap();
            let result = result.json_members([("n", exact), ("d", &*deep)]).unwrap();
            assert_eq!(
                result.members(),
                format!(r#"{{{start}"n":{exact},"d":{deep}}}"#)
            );
        }
        let result = ExtensionResult::new(json!({})).unwrap();
        assert!(result.json_members([("n", "not JSON")]).is_err());
    }

    #[test]
    fn meta_and_result_type_are_removed_from_the_top_level_only() {
        let deep = format!("{}{}", "[".repeat(300), "]".repeat(300));
        let deep = format!(r#"{{"d":{deep},"_meta":{{"a":1}}}}"#);
        for (written, members) in [
            (
                r#"{"a":{"_meta":{},"resultType":1}}"#,
                r#"{"a":{"_meta":{},"resultType":1}}"#,
            ),
            ("{\"a\":\n1}", r#"{"a":1}"#),
            (r#"{"\u005fmeta":{"a":1},"b":2}"#, r#"{"b":2}"#),
            (r#"{"_meta":{"a":1}}"#, "{}"),
            (r#"{"a":1,"b":2,"a":3}"#, r#"{"a":3,"b":2}"#),
            (
                r#"{"a":0.1,"b":1e999,"_meta":{}}"#,
                r#"{"a":0.1,"b":1e999}"#,
            ),
        ] {
            let value: Box<RawValue> = serde_json::from_str(written).unwrap();
            let result = ExtensionResult::new(value).unwrap();
            assert_eq!(result.members(), members, "{written}");
            let has_meta = written.contains("meta\":{\"a\"");
            assert_eq!(result.meta_entries().is_some(), has_meta, "{written}");
        }
        // Deeper than the scanner reads.
        let value: Box<RawValue> = RawValue::from_string(deep.clone()).unwrap();
        let result = ExtensionResult::new(value).unwrap();
        assert!(result.members().starts_with(r#"{"d":[[["#));
        assert!(result.members().ends_with("]]]}"));
        assert!(result.meta_entries().is_some());
        for refused in [
            "[1]",
            "1",
            "null",
            r#"{"resultType":"a"}"#,
            r#"{"resul\u0074Type":1}"#,
        ] {
            let value: Box<RawValue> = RawValue::from_string(refused.to_owned()).unwrap();
            assert!(ExtensionResult::new(value).is_err(), "{refused}");
        }
    }
}
