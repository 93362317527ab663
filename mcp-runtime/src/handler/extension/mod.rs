//! An extension as described by its author.
//!
//! `extension` checks all of a server's extensions together, and serves them.

pub(crate) mod filter;
pub(crate) mod method;
pub(crate) mod visibility;

use std::fmt;
use std::future::Future;

use serde_json::{Map, Value};

use crate::context::{Caller, Capability, ServerHandle};
use crate::error::Error;
use crate::handler::call::CallOutput;
use crate::handler::extension::filter::FilterMember;
use crate::handler::extension::method::ExtensionMethod;
use crate::handler::extension_result::ExtensionVersions;
use crate::handler::handler_error::Result;
use crate::handler::middleware::{Call, Next};
use crate::protocol::ProtocolVersion;

/// An extension of the protocol, for [`Server::extension`](crate::Server::extension).
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
/// let server = new_server!().extension(garden);
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
    Box<dyn Fn(Call, Next) -> crate::handler::call::Running + Send + Sync>;

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
    /// must start with `notifications/`. It is sent with [`Notifier::extension`](crate::Notifier::extension) or
    /// [`Notifier::extension_key`](crate::Notifier::extension_key).
    ///
    /// Legacy protocol versions do not have a filter, so a client that declares the extension in `initialize` receives
    /// the notification if its member is a flag.
    pub fn notification(mut self, name: impl Into<String>, member: FilterMember) -> Self {
        self.notifications.push((name.into(), Some(member)));
        self
    }

    /// Adds a notification that belongs to a single call. It is sent with [`Context::notify`](crate::Context::notify),
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
    /// [`Server::capability`](crate::Server::capability).
    pub fn capability(mut self, list: Capability) -> Self {
        self.capabilities.push(list);
        self
    }

    /// Adds middleware. As with [`Server::middleware`](crate::Server::middleware), the middleware wraps every call, and
    /// it can return [`CallOutput::Extension`] with a declared [result type](Self::result_type). A server with
    /// middleware runs each call a little more slowly, so add it only if the extension needs it.
    ///
    /// The call's [`Context::extension`](crate::Context::extension) shows whether the client has negotiated the
    /// extension. For any other client, the middleware must not change anything.
    pub fn middleware<F, A>(mut self, function: F) -> Self
    where
        F: Fn(Call, Next) -> A + Send + Sync + 'static,
        A: Future<Output = Result<CallOutput>> + Send + 'static,
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
