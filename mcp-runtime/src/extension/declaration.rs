//! An extension as its author describes it.

use std::fmt;
use std::future::Future;

use serde_json::{Map, Value};

use crate::context::{Capability, ServerHandle};
use crate::error::Error;
use crate::extension::filter::FilterMember;
use crate::extension::method::ExtensionMethod;
use crate::handler::call::CallOutput;
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
/// versions in the result of `initialize`. Start-up fails if the extension uses a name of the core protocol or of
/// another extension, and reports all such mistakes together.
///
/// Source: revision 2026-07-28, basic/extensions.
#[must_use = "an extension does nothing unless it is given to a server"]
pub struct Extension {
    pub(super) id: String,
    pub(super) settings: Value,
    pub(super) since: ProtocolVersion,
    pub(super) needs_declaration: bool,
    pub(super) methods: Vec<ExtensionMethod>,
    pub(super) notifications: Vec<(String, Option<FilterMember>)>,
    /// Pairs of a method and a type of its result.
    pub(super) result_types: Vec<(String, String)>,
    pub(super) meta_keys: Vec<String>,
    pub(super) dependencies: Vec<String>,
    pub(super) capabilities: Vec<Capability>,
    pub(super) middleware: Vec<ExtensionMiddleware>,
    pub(super) setup: Vec<Box<Setup>>,
}

/// Middleware of an extension, before it knows what the extension may answer.
pub(super) type ExtensionMiddleware =
    Box<dyn Fn(Call, Next) -> crate::handler::call::Running + Send + Sync>;

/// A function that prepares the server for the extension.
pub(crate) type Setup = dyn FnOnce(&ServerHandle) -> std::result::Result<(), Error> + Send + Sync;

impl Extension {
    /// Creates an extension with this identifier: a prefix of labels separated by dots, `/`, and a name, such as
    /// `com.example/garden`. Use a domain of your own, reversed, as the prefix. Official extensions have the prefix
    /// `io.modelcontextprotocol`.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            settings: Value::Object(Map::new()),
            since: ProtocolVersion::OLDEST,
            needs_declaration: true,
            methods: Vec::new(),
            notifications: Vec::new(),
            result_types: Vec::new(),
            meta_keys: Vec::new(),
            dependencies: Vec::new(),
            capabilities: Vec::new(),
            middleware: Vec::new(),
            setup: Vec::new(),
        }
    }

    /// Sets the settings that clients see. They must be an object, which is empty by default.
    pub fn settings(mut self, settings: Value) -> Self {
        self.settings = settings;
        self
    }

    /// Sets the oldest protocol version in which the extension exists. By default, it exists in all of them.
    ///
    /// Older versions are served as if the server did not have the extension: it is not declared, and its methods are
    /// error -32601.
    pub fn since(mut self, version: ProtocolVersion) -> Self {
        self.since = version;
        self
    }

    /// Sets whether clients must declare the extension in order to use it. Defaults to `true`.
    ///
    /// A request for one of its methods by a client that does not declare it is error -32021 in 2026-07-28, with the
    /// extension in `data.requiredCapabilities`, and error -32601 in legacy protocol versions. Nothing is looked up for
    /// such a request.
    pub fn needs_declaration(mut self, needed: bool) -> Self {
        self.needs_declaration = needed;
        self
    }

    /// Adds a method.
    pub fn method(mut self, method: ExtensionMethod) -> Self {
        self.methods.push(method);
        self
    }

    /// Adds a notification that clients ask for in `subscriptions/listen` through a member of the filter. Its name starts
    /// with `notifications/`. It is sent with [`Notifier::extension`](crate::Notifier::extension) or
    /// [`Notifier::extension_key`](crate::Notifier::extension_key).
    ///
    /// Legacy protocol versions have no filter: a client that declares the extension in `initialize` receives the
    /// notification if its member is a flag.
    pub fn notification(mut self, name: impl Into<String>, member: FilterMember) -> Self {
        self.notifications.push((name.into(), Some(member)));
        self
    }

    /// Adds a notification that belongs to one call. It is sent with [`Context::notify`](crate::Context::notify), before
    /// the response. Its name starts with `notifications/`.
    pub fn call_notification(mut self, name: impl Into<String>) -> Self {
        self.notifications.push((name.into(), None));
        self
    }

    /// Declares a type of result other than `complete` for a method: for one of the extension's own, or for
    /// `tools/call`, `prompts/get` or `resources/read`, for which [`middleware`](Self::middleware) of the extension may
    /// then return an [`ExtensionResult`](crate::extension::ExtensionResult) to clients that declare the extension.
    pub fn result_type(
        mut self,
        method: impl Into<String>,
        result_type: impl Into<String>,
    ) -> Self {
        self.result_types.push((method.into(), result_type.into()));
        self
    }

    /// Allows definitions and results of this server to have a key in `_meta` that is reserved otherwise. The key must
    /// have the extension's own prefix, followed by `/`, or by `.` and the extension's name. Keys that are not reserved
    /// need no permission.
    pub fn meta_key(mut self, key: impl Into<String>) -> Self {
        self.meta_keys.push(key.into());
        self
    }

    /// Requires another extension. Start-up fails if the server does not have it.
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

    /// Adds middleware, which wraps every call like that of [`Server::middleware`](crate::Server::middleware) and can
    /// return [`CallOutput::Extension`] with a declared [type of result](Self::result_type). A server with middleware
    /// runs each call a little more slowly, so add it only if the extension needs it.
    ///
    /// [`Context::extension`](crate::Context::extension) of the call tells whether the client has negotiated the
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

    /// Adds a function that runs when the server starts, after its extensions have been checked and before its definitions
    /// are. Definitions that it inserts are served from the beginning. Start-up fails with its error.
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
