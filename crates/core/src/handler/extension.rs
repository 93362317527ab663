//! An extension as described by its author.
//!
//! `extension` checks all of a server's extensions together, and serves them.

use std::any::TypeId;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::context::{Caller, Capability, Context, ServerHandle};
use crate::error::Error;
use crate::handler::dynamic::{Arguments, DynamicHandler};
use crate::handler::handler_error::{HandlerError, Result};
use crate::handler::item_option::guarded;
use crate::handler::middleware::{Call, Middleware, Next};
use crate::handler::run::{CallOutput, ExtensionVersions, IntoExtensionResult, running};
use crate::jsonrpc::ErrorObject;
use crate::protocol::ProtocolVersion;
use crate::spawn;

/// An extension of the protocol, for `Server::with`.
///
/// ```
/// use mcp_runtime::extension::{Extension, ExtensionMethod, FilterMember};
/// use mcp_runtime::prelude::*;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Deserialize)]
/// struct Watering {
///     bed: String,
/// }
///
/// #[derive(Serialize)]
/// struct Watered {
///     litres: f64,
/// }
///
/// async fn water(watering: Watering, ctx: Context) -> Result<Json<Watered>> {
///     ctx.server().notify().extension_key("notifications/garden/watered", &watering.bed, json!({"bed": watering.bed}));
///     Ok(Json(Watered { litres: 2.5 }))
/// }
///
/// let garden = Extension::new("com.example/garden")
///     .settings(json!({"unit": "litre"}))
///     .method(ExtensionMethod::new("garden/water", water).mirrored_name("bed"))
///     .notification("notifications/garden/watered", FilterMember::keys("gardenBeds"));
/// let server = new_server!().with(garden);
/// ```
///
/// Clients see the extension in `capabilities.extensions`: in the result of `server/discover`, and for legacy protocol
/// versions in the result of `initialize`. Start-up fails if the extension uses a name that belongs to the core
/// protocol or another extension, and all such mistakes are reported together.
///
/// Source: revision 2026-07-28, basic/extensions.
#[must_use = "an extension does nothing unless it is given to a server"]
pub struct Extension {
    pub(crate) id: String,
    pub(crate) settings: Value,
    pub(crate) versions: ExtensionVersions,
    pub(crate) needs_declaration: bool,
    pub(crate) methods: Vec<ExtensionMethod>,
    pub(crate) notifications: Vec<(String, Option<FilterMember>)>,
    /// Pairs of a method and one of its result types.
    pub(crate) result_types: Vec<(String, String)>,
    pub(crate) meta_keys: Vec<String>,
    pub(crate) dependencies: Vec<String>,
    pub(crate) capabilities: Vec<Capability>,
    pub(crate) middleware: Vec<ExtensionMiddleware>,
    pub(crate) core_capability: Option<(String, CoreCapability)>,
    pub(crate) setup: Vec<Box<Setup>>,
}

/// An extension's middleware, before it is limited to the results that the extension may return.
pub(crate) type ExtensionMiddleware =
    Box<dyn Fn(Call, Next) -> crate::handler::run::Running + Send + Sync>;

/// A function that returns the value of a core protocol capability for a caller.
pub(crate) type CoreCapability = Box<dyn Fn(&Caller) -> Value + Send + Sync>;

/// A function that prepares the server for the extension.
pub(crate) type Setup = dyn FnOnce(&ServerHandle) -> std::result::Result<(), Error> + Send + Sync;

impl Extension {
    /// Creates an extension with this identifier: a prefix of labels separated by dots, `/`, and a name, such as
    /// `com.example/garden`. Use your own domain in reverse order as the prefix. Official extensions have the prefix
    /// `io.modelcontextprotocol`.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            settings: Value::Object(Map::new()),
            versions: ExtensionVersions {
                since: ProtocolVersion::OLDEST,
                core: |_| false,
            },
            needs_declaration: true,
            methods: Vec::new(),
            notifications: Vec::new(),
            result_types: Vec::new(),
            meta_keys: Vec::new(),
            dependencies: Vec::new(),
            capabilities: Vec::new(),
            middleware: Vec::new(),
            core_capability: None,
            setup: Vec::new(),
        }
    }

    /// Sets the settings that clients see, which must be an object. By default, the object is empty.
    pub fn settings(mut self, settings: Value) -> Self {
        self.settings = settings;
        self
    }

    /// Sets the oldest protocol version in which the extension exists. By default, it exists in all versions.
    ///
    /// Older versions are served as if the server did not have the extension: it is not declared, and requests for its
    /// methods receive error -32601.
    pub fn since(mut self, version: ProtocolVersion) -> Self {
        self.versions.since = version;
        self
    }

    /// Sets the older protocol versions in which the extension's additions belong to the core protocol. In those
    /// versions, its methods, notifications and results work without a declaration from either side.
    ///
    /// For a method that exists only in these versions, use [`ExtensionMethod::core_only`].
    pub fn core_in(mut self, is_core: fn(ProtocolVersion) -> bool) -> Self {
        self.versions.core = is_core;
        self
    }

    /// Declares a core protocol capability in the versions set with [`core_in`](Self::core_in). The capability's value
    /// can depend on the caller who initializes the session. The only such capability is `tasks`.
    pub fn core_capability(
        mut self,
        name: impl Into<String>,
        value: impl Fn(&Caller) -> Value + Send + Sync + 'static,
    ) -> Self {
        self.core_capability = Some((name.into(), Box::new(value)));
        self
    }

    /// Sets whether clients must declare the extension in order to use it. Defaults to `true`.
    ///
    /// If a client that does not declare the extension calls one of its methods, it receives error -32021 in
    /// 2026-07-28, with the extension in `data.requiredCapabilities`, and error -32601 in legacy protocol versions.
    /// Such a request is rejected before any data is looked up.
    pub fn needs_declaration(mut self, needed: bool) -> Self {
        self.needs_declaration = needed;
        self
    }

    /// Adds a method.
    pub fn method(mut self, method: ExtensionMethod) -> Self {
        self.methods.push(method);
        self
    }

    /// Adds a notification that clients request in `subscriptions/listen` with a filter member. The notification's name
    /// must start with `notifications/`. It is sent with [`Notifier::extension`](crate::context::Notifier::extension) or
    /// [`Notifier::extension_key`](crate::context::Notifier::extension_key).
    ///
    /// Legacy protocol versions do not have a filter, so a client that declares the extension in `initialize` receives
    /// the notification if its member is a flag.
    pub fn notification(mut self, name: impl Into<String>, member: FilterMember) -> Self {
        self.notifications.push((name.into(), Some(member)));
        self
    }

    /// Adds a notification that belongs to a single call. It is sent with [`Context::notify`](crate::context::Context::notify),
    /// before the response. The notification's name must start with `notifications/`.
    pub fn call_notification(mut self, name: impl Into<String>) -> Self {
        self.notifications.push((name.into(), None));
        self
    }

    /// Declares a result type other than `complete` for a method. The method is either one of the extension's own
    /// methods or `tools/call`, `prompts/get` or `resources/read`. For the latter three, the extension's
    /// [`middleware`](Self::middleware) may then return an [`ExtensionResult`](crate::extension::ExtensionResult) to
    /// clients that declare the extension.
    pub fn result_type(
        mut self,
        method: impl Into<String>,
        result_type: impl Into<String>,
    ) -> Self {
        self.result_types.push((method.into(), result_type.into()));
        self
    }

    /// Allows this server's definitions and results to have a `_meta` key that is otherwise reserved. The key must have
    /// the extension's own prefix, followed by `/`, or by `.` and the extension's name. Keys that are not reserved do
    /// not need permission.
    pub fn meta_key(mut self, key: impl Into<String>) -> Self {
        self.meta_keys.push(key.into());
        self
    }

    /// Requires another extension. Start-up fails if the server does not have that extension.
    pub fn requires(mut self, id: impl Into<String>) -> Self {
        self.dependencies.push(id.into());
        self
    }

    /// Declares a list that the extension needs, even if it is empty when the server starts. See
    /// `Server::capability`.
    pub fn capability(mut self, list: Capability) -> Self {
        self.capabilities.push(list);
        self
    }

    /// Adds middleware. As with `Server::middleware`, the middleware wraps every call, and
    /// it can return [`CallOutput::Extension`] with a declared [result type](Self::result_type). A server with
    /// middleware runs each call a little more slowly, so add it only if the extension needs it.
    ///
    /// The call's [`Context::extension`](crate::context::Context::extension) shows whether the client has negotiated the
    /// extension. For any other client, the middleware must not change anything.
    pub fn middleware<M>(mut self, function: M) -> Self
    where
        // The second bound lets the compiler infer the parameters of an `async` closure.
        M: Middleware + Fn(Call, Next) -> <M as Middleware>::Future,
    {
        self.middleware
            .push(Box::new(move |call, next| Box::pin(function(call, next))));
        self
    }

    /// Adds a function that runs when the server starts, after its extensions have been checked and before its
    /// definitions are checked. Definitions inserted by this function are served from the beginning. If it returns an
    /// error, start-up fails with that error.
    pub fn setup(
        mut self,
        setup: impl FnOnce(&ServerHandle) -> std::result::Result<(), Error> + Send + Sync + 'static,
    ) -> Self {
        self.setup.push(Box::new(setup));
        self
    }
}

impl fmt::Debug for Extension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extension")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

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

guarded!(ExtensionMethod);

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
    /// with [`Context::forward_question`](crate::context::Context::forward_question).
    #[must_use]
    #[doc(hidden)]
    pub fn forwards_questions(mut self) -> Self {
        self.forwards_questions = true;
        self
    }
}

impl ExtensionMethod {
    /// Marks a method of the framework. Its calls bypass middleware, as lists do.
    #[doc(hidden)]
    #[must_use]
    pub fn built_in(mut self) -> Self {
        self.is_built_in = true;
        self
    }

    /// Makes calls start without the server's state, for methods of the framework.
    #[doc(hidden)]
    #[must_use]
    pub fn without_state(mut self) -> Self {
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

/// A member of `params.notifications` in `subscriptions/listen`, with which a client requests an extension's
/// notifications.
///
/// Source: revision 2026-07-28, basic/extensions and server/utilities/subscriptions.
#[derive(Clone, Debug)]
pub struct FilterMember {
    pub(crate) name: String,
    pub(crate) is_keyed: bool,
    /// Decides which callers may be notified about a key.
    pub(crate) visible_if: KeyVisibility,
    /// Called for each key to which a client begins to listen.
    pub(crate) on_listen: Option<OnListen>,
}

type Listening = dyn Fn(&ServerHandle, &Caller, &str) + Send + Sync;

/// A function that learns that a caller has begun to listen to a key.
#[derive(Clone)]
pub(crate) struct OnListen(pub(crate) Arc<Listening>);

impl fmt::Debug for OnListen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OnListen").finish_non_exhaustive()
    }
}

impl FilterMember {
    /// Creates a member whose value is `true` if the client wants the notification.
    pub fn flag(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            is_keyed: false,
            visible_if: KeyVisibility::default(),
            on_listen: None,
        }
    }

    /// Creates a member whose value is an array of strings: the keys for which the client wants notifications, such as
    /// task ids. The keys count toward [`limits.streams.max_subscriptions`](crate::limits::Limits), and each key can be up to
    /// [`limits.message.max_uri_bytes`](crate::limits::Limits) long.
    pub fn keys(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            is_keyed: true,
            visible_if: KeyVisibility::default(),
            on_listen: None,
        }
    }

    /// Accepts only keys for which the function returns `true`. By default, every key is accepted, so callers can be
    /// notified about keys that belong to other callers.
    ///
    /// The function runs once for each key that a client requests, so it must not block. Start-up fails if the member
    /// is a flag, or if another notification has the same member with a different function. To share a member, give
    /// both notifications a clone of it.
    #[must_use]
    pub fn visible_if(
        mut self,
        visible_if: impl Fn(&Caller, &str) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.visible_if = KeyVisibility::new(visible_if);
        self
    }

    /// Sets a function that is called for each key to which a client begins to listen. It must not block.
    #[doc(hidden)]
    #[must_use]
    pub fn on_listen(
        mut self,
        on_listen: impl Fn(&ServerHandle, &Caller, &str) + Send + Sync + 'static,
    ) -> Self {
        self.on_listen = Some(OnListen(Arc::new(on_listen)));
        self
    }
}

/// A `visible_if` function that takes a caller and a key. By default, every caller sees every key.
#[derive(Clone, Default)]
pub struct KeyVisibility(Option<Arc<IsKeyVisible>>);

type IsKeyVisible = dyn Fn(&Caller, &str) -> bool + Send + Sync;

impl KeyVisibility {
    /// Returns the visibility of keys that this function decides for each caller.
    pub fn new(visible_if: impl Fn(&Caller, &str) -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(visible_if)))
    }

    /// Returns `true` if a function determines the visibility.
    #[must_use]
    pub fn is_restricted(&self) -> bool {
        self.0.is_some()
    }

    /// Returns `true` if both have the same function, or if neither has a function. Two functions with the same code
    /// are not the same.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (Some(_), None) | (None, Some(_)) => false,
        }
    }

    /// Returns `true` if the key is visible to the caller. If the function panics, the key is hidden.
    #[must_use]
    pub fn is_visible_to(&self, caller: &Caller, key: &str) -> bool {
        let Some(visible_if) = &self.0 else {
            return true;
        };
        spawn::catch(|| visible_if(caller, key)).unwrap_or_else(|_| {
            tracing::error!(key, "a `visible_if` function panicked; the key is hidden");
            false
        })
    }
}

impl fmt::Debug for KeyVisibility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("KeyVisibility")
            .field(&self.is_restricted())
            .finish()
    }
}
