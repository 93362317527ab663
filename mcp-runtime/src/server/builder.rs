//! Builds a server from the definitions collected by the macros and the settings added by the author.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "tower")]
use mcp_core::handler::definition::Kind;
use mcp_core::handler::definition::{Selected, SelectedFunction};
use mcp_core::handler::handler_error::Result;
use mcp_core::handler::middleware::{Call, Middleware, Next, UnlinkedMiddleware};
use mcp_core::handler::option::StoresByType;
use mcp_core::handler::{middleware, rules};
use mcp_core::limits::Limits;
#[cfg(feature = "tower")]
use mcp_extra::tower::{self, CallService, Layer};
use mcp_settings::ServerEnvironment;
use mcp_stores::Backend;

use crate::context::{
    Capability, EnvironmentHeaders, MakeState, ServeHook, ServerControl, ServerHandle, States,
};
use crate::dispatch::{Admission, CacheHints, ServeHooks, ServerAddOn, ServerParts, ServerShared};
use crate::error::{Error, ErrorKind};
use crate::extension;
use crate::extension::{Extension, Extensions, ServerChanges};
use crate::observe::Observers;
use crate::protocol::encode::CacheHint;
use crate::rate::{Rate, SharedQuota};
use crate::registry::{MethodReceiver, ToolSource};
use crate::seal::SealingKey;
use crate::server::backend_variable::BackendVariable;
use crate::server::tags::TagSettings;
use crate::types::{CacheScope, Implementation};

/// A server that has not been started yet, together with its settings.
///
/// The server serves every annotated function that is linked into the program, unless the selection is narrowed with
/// [`only`](Self::only). Definitions and settings are checked only when the server starts, and
/// all mistakes are reported together.
///
/// ```no_run
/// use mcp_runtime::prelude::*;
///
/// /// Adds two integers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// #[mcp_runtime::main]
/// async fn main() -> Result<(), mcp_runtime::Error> {
///     Server::new("calculator", "1.0.0").run().await
/// }
/// ```
#[must_use = "a server does nothing unless it is run"]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a setting, independent of the others"
)]
pub struct Server {
    pub(super) identity: Implementation,
    pub(super) instructions: Option<String>,
    pub(crate) limits: Limits,
    pub(super) states: States,
    pub(super) on_serve: ServeHooks,
    pub(super) environment: ServerEnvironment,
    pub(super) environment_headers: EnvironmentHeaders,
    pub(super) receivers: Vec<MethodReceiver>,
    pub(super) selected: Option<Vec<SelectedFunction>>,
    pub(super) prefixes: Vec<(String, Vec<SelectedFunction>)>,
    pub(super) tags: Vec<String>,
    pub(super) tag_scopes: Vec<(String, Vec<String>)>,
    pub(super) tag_settings: TagSettings,
    pub(super) tool_sources: Vec<Arc<dyn ToolSource>>,
    pub(super) offered: Vec<Capability>,
    pub(super) extensions: ExtensionSettings,
    pub(super) expose_errors: bool,
    pub(super) check_outputs: bool,
    pub(super) cache: CacheHints,
    pub(super) admission: Admission,
    pub(super) sealing_keys: Vec<SealingKey>,
    pub(super) wrapping: WrappingSettings,
    /// Mistakes found in the settings so far, to be reported at startup.
    pub(super) faults: Vec<String>,
    pub(super) backend: Backend,
    /// `true` if the author has set the backend, or it was opened.
    pub(super) has_backend: bool,
    pub(super) requires_backend: bool,
    pub(super) backend_variable: Option<BackendVariable>,
    /// What settings add, and the stores that were set for it.
    pub(super) added: ServerParts,
    pub(super) stores: StoresByType,
    pub(crate) observers: Observers,
    #[cfg(feature = "http")]
    pub(super) http: mcp_http::HttpOptions,
    #[cfg(feature = "http")]
    pub(super) ready_checks: Vec<mcp_stores::ReadyCheck>,
    pub(super) shared: Arc<ServerShared>,
}

/// Creates a server named after the calling package by passing the name and version from its `Cargo.toml` to
/// `Server::new`.
///
/// ```
/// let server = mcp_runtime::new_server!();
/// ```
#[macro_export]
macro_rules! new_server {
    () => {
        $crate::Server::new(
            ::core::env!("CARGO_PKG_NAME"),
            ::core::env!("CARGO_PKG_VERSION"),
        )
    };
}

/// A kind of result that clients may cache, for use with [`Server::cache_hints`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cacheable {
    /// All cacheable results.
    Everything,
    /// `server/discover`
    Discover,
    /// `tools/list`
    Tools,
    /// `prompts/list`
    Prompts,
    /// `resources/list`
    Resources,
    /// `resources/templates/list`
    ResourceTemplates,
}

impl Server {
    /// Creates a server with the name and version that it reports to clients.
    ///
    /// [`new_server!()`](crate::new_server!) takes both from your package.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            identity: Implementation::new(name, version),
            instructions: None,
            limits: Limits::default(),
            states: States::default(),
            on_serve: ServeHooks::default(),
            environment: ServerEnvironment::default(),
            environment_headers: EnvironmentHeaders::default(),
            receivers: Vec::new(),
            selected: None,
            prefixes: Vec::new(),
            tags: Vec::new(),
            tag_scopes: Vec::new(),
            tag_settings: TagSettings::default(),
            tool_sources: Vec::new(),
            offered: Vec::new(),
            extensions: ExtensionSettings::default(),
            expose_errors: false,
            check_outputs: true,
            cache: CacheHints::default(),
            admission: Admission::default(),
            sealing_keys: Vec::new(),
            wrapping: WrappingSettings::default(),
            faults: Vec::new(),
            backend: Backend::new(),
            has_backend: false,
            requires_backend: false,
            backend_variable: None,
            added: ServerParts::default(),
            stores: StoresByType::default(),
            observers: Observers::default(),
            #[cfg(feature = "http")]
            http: mcp_http::HttpOptions::new(),
            #[cfg(feature = "http")]
            ready_checks: Vec::new(),
            shared: Arc::default(),
        }
    }

    /// Sets a human-readable name, which is sent to clients that use protocol version 2025-06-18 or later.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.identity.title = Some(title.into());
        self
    }

    /// Describes the purpose of the server in a sentence or two. The description is sent to clients that use protocol
    /// version 2025-11-25 or later.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.identity.description = Some(description.into());
        self
    }

    /// Changes what else clients are told about the server: its website and icons, which are sent to clients that use
    /// protocol version 2025-11-25 or later.
    ///
    /// ```
    /// let server = mcp_runtime::new_server!()
    ///     .server_info(|info| info.website_url = Some("https://example.com".to_owned()));
    /// ```
    ///
    /// Start-up fails if an icon's source is not an `https:` or `data:` URI.
    pub fn server_info(mut self, change: impl FnOnce(&mut Implementation)) -> Self {
        change(&mut self.identity);
        self
    }

    /// Sets the instructions that a model should read before it uses the server, which can explain, for example, how
    /// its tools work together and what to do first.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// Serves only these functions, or those that have a [tag](Selected::tag), instead of all functions that are linked into
    /// the program. Can be called more than once; what any of the calls selects is served.
    ///
    /// ```
    /// # use mcp_runtime::prelude::*;
    /// # use mcp_runtime::server::Selected;
    /// # #[tool] fn add() {}
    /// # #[prompt(tags("public"))] fn greet() -> &'static str { "" }
    /// let server = new_server!().only([tool(add), Selected::tag("public")]);
    /// ```
    ///
    /// State has to be provided only for what is served. To hide definitions from clients, see
    /// [`filter_tags`](Self::filter_tags).
    ///
    /// Start-up fails if a function is not annotated or is annotated as a different kind of handler, or if a tag is not
    /// used by any definition.
    pub fn only(mut self, selected: impl IntoIterator<Item = Selected>) -> Self {
        let before = self.tags.len();
        let mut functions = Vec::new();
        for selected in selected {
            match selected.into_function() {
                Ok(function) => functions.push(function),
                Err(tag) => self.tags.push(tag),
            }
        }
        if !functions.is_empty() || self.tags.len() == before {
            self.selected.get_or_insert_default().extend(functions);
        }
        self
    }

    /// Declares a list that may be empty at start-up because its definitions are added later through
    /// [`handle`](Self::handle).
    ///
    /// Clients read a server's capabilities only once, so without this declaration, clients that connect while the list
    /// is still empty never request it. Once a list has contained an item, it remains declared.
    pub fn capability(mut self, list: Capability) -> Self {
        self.offered.push(list);
        self
    }

    /// Sets limits on sizes, counts, rates and durations.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Lets models read the messages of all errors that handlers return, including their causes. By default, models read
    /// only messages that are [exposed](crate::HandlerError).
    ///
    /// Use this for servers that run for a single user on the user's machine, where errors do not contain secrets.
    /// Errors are logged in either case. Panic messages are never sent.
    pub fn expose_errors(mut self) -> Self {
        self.expose_errors = true;
        self
    }

    /// Sends tool results without validating them against their output schemas, which is done by default: if a result is
    /// invalid, the client receives an internal error and the mismatch is logged.
    ///
    /// Results of type [`Json<T>`](crate::Json) are valid by construction, so checking them is free unless the server
    /// has middleware or a sanitizer. Skip the check if dynamic tools return large results that are known to be
    /// valid.
    ///
    /// Source: revision 2025-06-18 and later, server/tools, "Output Schema".
    pub fn skip_output_checks(mut self) -> Self {
        self.check_outputs = false;
        self
    }

    /// Sets the cache hints, which tell clients how long and for whom a result may be cached. By default, results are
    /// private and not cached.
    ///
    /// Use [`CacheScope::Public`] only if all callers receive the same result. For the contents of a resource, set the
    /// cache options in its definition instead.
    ///
    /// Source: revision 2026-07-28, server/utilities/caching. Clients that use older protocol versions do not receive
    /// the hints.
    pub fn cache_hints(mut self, what: Cacheable, ttl: Duration, scope: CacheScope) -> Self {
        let hint = CacheHint { ttl, scope };
        let cache = &mut self.cache;
        match what {
            Cacheable::Discover => cache.discover = hint,
            Cacheable::Tools => cache.tools = hint,
            Cacheable::Prompts => cache.prompts = hint,
            Cacheable::Resources => cache.resources = hint,
            Cacheable::ResourceTemplates => cache.templates = hint,
            Cacheable::Everything => {
                *cache = CacheHints {
                    discover: hint,
                    tools: hint,
                    prompts: hint,
                    resources: hint,
                    templates: hint,
                };
            }
        }
        self
    }

    /// Sets the stores for all data that outlives a request. Replaces any backend that was set earlier.
    ///
    /// ```ignore
    /// new_server!().backend(Sqlite::open("state.db")?)
    /// ```
    ///
    /// If the place is a setting, use [`backend_from_env`](Self::backend_from_env).
    /// A backend can also be put together from single stores, as in `Backend::new().tasks(…)`.
    pub fn backend(mut self, backend: impl Into<Backend>) -> Self {
        self.backend = backend.into();
        self.has_backend = true;
        self
    }

    /// Adds something that the server gets as a whole: an [extension](crate::extension::Extension) of the protocol, skills,
    /// a sanitizer, tool search, or whatever else implements [`ServerAddOn`]. Can be called more than once.
    ///
    /// Start-up fails if two extensions use the same name, or if an extension uses a name from the core protocol.
    pub fn with(mut self, add_on: impl ServerAddOn) -> Self {
        add_on.add_to(&mut self.added);
        for extension in std::mem::take(&mut self.added.extensions) {
            self.add_extension(extension);
        }
        self
    }

    /// Returns a handle that background tasks can use to send change notifications, edit lists and stop the server.
    ///
    /// Starting a server consumes it, so get the handle first. Definitions added before the server starts are served
    /// from the beginning; change notifications sent before then do not reach any clients.
    #[must_use]
    pub fn handle(&self) -> ServerHandle {
        ServerHandle::new(Arc::clone(&self.shared) as Arc<dyn ServerControl>)
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("identity", &self.identity)
            .finish_non_exhaustive()
    }
}

// Prefixes of names, for functions of several crates in one server.

impl Server {
    /// Puts a prefix before the names of these tools and prompts, for example because two crates have a tool of the
    /// same name.
    ///
    /// ```
    /// # use mcp_runtime::prelude::*;
    /// mod notes {
    ///     # use mcp_runtime::prelude::*;
    ///     #[tool]
    ///     pub fn search(text: &str) -> String {
    ///         # text.to_owned()
    ///     }
    /// }
    ///
    /// // Clients see the tool `notes_search`.
    /// let server = new_server!().prefix_names("notes_", [tool(notes::search)]);
    /// ```
    ///
    /// A crate can export the array, so that a server names all of its functions at once. The functions that are served
    /// do not change: see [`only`](Self::only).
    ///
    /// Start-up fails if a function is not annotated, is not a tool or prompt, or is given two prefixes, and if a name
    /// with its prefix is invalid or used twice.
    pub fn prefix_names(
        mut self,
        prefix: impl Into<String>,
        functions: impl IntoIterator<Item = Selected>,
    ) -> Self {
        let mut prefixed = Vec::new();
        for selected in functions {
            match selected.into_function() {
                Ok(function) => prefixed.push(function),
                Err(tag) => self.faults.push(format!(
                    "names cannot get a prefix by the tag `{tag}`; list the functions"
                )),
            }
        }
        self.prefixes.push((prefix.into(), prefixed));
        self
    }
}

// Values that handlers share: state, and receivers for the methods in `#[server]` blocks.

impl Server {
    /// Shares a value with every handler that takes [`State<T>`](crate::State). To share it with the rest of the program,
    /// too, pass an `Arc<T>`. Only one value of each type is kept; a second value of the same type replaces the first.
    pub fn state<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.states.insert(value);
        self
    }

    /// Shares a value, such as a pool of database connections, with every handler that takes
    /// [`State<T>`](crate::State). The value is created by `make` when it is first needed.
    ///
    /// ```
    /// # use mcp_runtime::prelude::*;
    /// # struct Pool;
    /// # impl Pool { async fn connect(_: &str) -> std::io::Result<Self> { Ok(Self) } }
    /// # use mcp_runtime::server::Secret;
    /// #[data(input)]
    /// struct Settings {
    ///     /// URL of the database
    ///     database_url: Secret<String>,
    /// }
    ///
    /// let server = new_server!()
    ///     .env::<Settings>("NOTES_")
    ///     .state_with(async |settings: State<Settings>| {
    ///         Pool::connect(settings.database_url.expose_secret()).await
    ///     });
    /// # drop(server);
    /// ```
    ///
    /// `make` is an async function or closure of up to three parameters, each of type [`State<T>`](crate::State) or
    /// `Arc<T>`, which are values of this server, in whatever order they are declared. Start-up fails if such a value is
    /// missing, or if values need each other in a circle.
    ///
    /// A running server creates the value before it accepts requests and after definitions and settings have been
    /// checked; if that fails, the server does not start. Commands such as `check`, `tools` and `install`, clients in
    /// the same process, and a [mounted service](Self::into_http_service) create the value on the first call to a
    /// handler that takes it. If that fails, the call fails, and the next call tries again. The same failure is logged
    /// only once, and the errors of all these calls refer to that line of the log.
    ///
    /// Otherwise works like [`state`](Self::state).
    pub fn state_with<T, E, P>(mut self, make: impl MakeState<T, E, P>) -> Self
    where
        T: Send + Sync + 'static,
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        self.states.insert_later(make);
        self
    }

    /// Runs a function when the server begins to serve, for what only a server needs and a command such as `tools` or
    /// `--help` does not: a listener for metrics, a connection to a queue, a background loop. Can be called more than
    /// once; the functions run in this order.
    ///
    /// ```
    /// # use mcp_runtime::prelude::*;
    /// # struct Recorder;
    /// # impl Recorder { fn install() -> std::io::Result<()> { Ok(()) } }
    /// let server = new_server!().on_serve(|| Recorder::install());
    /// ```
    ///
    /// `hook` is a function or closure, async or not, of up to three parameters, each of type [`State<T>`](crate::State) or
    /// `Arc<T>`, which are values of this server. It returns nothing or a `Result<(), E>`. What should go on while the
    /// server runs belongs into [`ServerHandle::spawn`](crate::server::ServerHandle::spawn) or a task.
    ///
    /// | Start | When it runs |
    /// |---|---|
    /// | [`run`](Self::run) without a command, [`serve`](Self::serve), `serve_http` and its kin | after definitions and settings have been checked, the state has been created and the port has been bound, before the first request. If it fails, the server does not start, and the error says why |
    /// | [`into_http_service`](Self::into_http_service), [`build`](Self::build) | in the background, when the first request arrives. If it fails, this is logged and the server stops |
    /// | commands, `--describe`, `--help`, the client for tests | never |
    #[track_caller]
    pub fn on_serve<P>(mut self, hook: impl ServeHook<P>) -> Self {
        self.on_serve.add(hook, Location::caller());
        self
    }

    /// Serves the methods in the `#[server]` blocks of `T` by calling them on `value`, which can also be an `Arc<T>`.
    /// Start-up fails if the value for any `#[server]` block is missing, unless the server [serves only](Self::only)
    /// functions of others.
    pub fn handlers<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.receivers.push(MethodReceiver::new(value));
        self
    }
}

impl Server {
    /// Adds a [source of tools](ToolSource), which is asked whenever a client lists tools or calls one that the server
    /// does not have itself. Can be called more than once; sources are asked in this order.
    ///
    /// Start-up fails if two sources have the same name, or if a tool of the server has a name that a source
    /// [reserves](ToolSource::reserves).
    pub fn tool_source(mut self, source: impl ToolSource) -> Self {
        self.tool_sources.push(Arc::new(source));
        // The list may be empty for the client that reads the capabilities.
        self.offered.push(Capability::Tools);
        self
    }
}

// --- Access control settings: which scopes include others, which scopes a tag requires, and whether anonymous callers are
// trusted.

impl Server {
    /// Declares that the scope `broad` includes the scopes `narrow` and, transitively, any scopes that those include.
    /// Can be called more than once.
    ///
    /// ```
    /// # use mcp_runtime::prelude::*;
    /// let server = new_server!()
    ///     .scope_implies("notes:write", ["notes:read"])
    ///     .scope_implies("admin", ["notes:write", "users:read"]);
    /// ```
    ///
    /// The declaration applies wherever scopes are checked: in options, in `visible_if` functions, and in the
    /// [`Principal`](crate::Principal) that handlers receive. Start-up fails if a scope is invalid.
    ///
    /// Source: revision 2025-11-25 and later, basic/authorization, "Scope Challenge Handling".
    pub fn scope_implies(
        mut self,
        broad: impl AsRef<str>,
        narrow: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Self {
        let broad = broad.as_ref();
        self.faults.extend(rules::scope(broad).into_result().err());
        for narrow in narrow {
            let narrow = narrow.as_ref();
            self.faults.extend(rules::scope(narrow).into_result().err());
            self.admission.imply(broad, narrow);
        }
        self
    }

    /// Requires these scopes for every definition with this tag, in addition to any scopes that the definition itself
    /// requires. Can be called more than once.
    ///
    /// Start-up fails if the tag is not used by any definition or if a scope is invalid.
    pub fn require_scopes(
        mut self,
        tag: impl Into<String>,
        scopes: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let scopes: Vec<String> = scopes.into_iter().map(Into::into).collect();
        let verdicts = scopes.iter().map(|scope| rules::scope(scope).into_result());
        self.faults.extend(verdicts.filter_map(Result::err));
        self.tag_scopes.push((tag.into(), scopes));
        self
    }

    /// Grants anonymous callers full access, as over standard input and output. Scopes then apply only to callers with
    /// credentials. By default, anonymous callers cannot use definitions that require scopes.
    ///
    /// Use this for a server that can be reached only by callers with full access, such as a server on a single-user
    /// machine or behind a proxy that authenticates callers.
    pub fn trust_anonymous(mut self) -> Self {
        self.admission.trusts_anonymous = true;
        self
    }
}

// --- Adds protocol extensions to a server.

/// The extensions added to a server that has not been started yet.
#[derive(Debug, Default)]
pub(super) struct ExtensionSettings(Vec<Extension>);

impl Server {
    /// Adds a protocol extension.
    pub(super) fn add_extension(&mut self, mut extension: Extension) {
        let ServerChanges {
            middleware,
            capabilities,
        } = extension.take_additions();
        self.wrapping.around.extend(middleware);
        self.offered.extend(capabilities);
        self.extensions.0.push(extension);
    }
}

impl ExtensionSettings {
    /// Checks all extensions together, then runs the functions that prepare the server for them. Returns the extensions
    /// and the reserved `_meta` keys that they define.
    ///
    /// # Errors
    ///
    /// Fails if an extension is invalid (all problems are reported) or if one of these functions fails.
    pub(super) fn start(
        mut self,
        handle: &ServerHandle,
    ) -> Result<(Arc<Extensions>, Vec<String>), Error> {
        let (mut meta_keys, mut setup) = (Vec::new(), Vec::new());
        for extension in &mut self.0 {
            setup.extend(extension.take_setup());
            meta_keys.extend_from_slice(extension.meta_keys());
        }
        let built = extension::build(self.0);
        let extensions =
            built.map_err(|problems| Error::new(ErrorKind::Configuration, problems.join("\n")))?;
        setup.into_iter().try_for_each(|prepare| prepare(handle))?;
        Ok((Arc::new(extensions), meta_keys))
    }
}

// --- Settings that affect calls to handlers: the rate limit, middleware, and sanitizers.

/// A server's rate limit and middleware.
#[derive(Default)]
pub(super) struct WrappingSettings {
    pub(super) rate: Option<Rate>,
    /// The rates that definitions with a tag share.
    pub(super) quotas: Vec<Arc<SharedQuota>>,
    /// Middleware, outermost first.
    pub(super) around: Vec<UnlinkedMiddleware>,
    /// The names of tools that have their own layers.
    pub(super) layered: Vec<String>,
}

impl WrappingSettings {
    /// Checks that every tool with its own layer exists.
    pub(super) fn check_layered_tools(&self, tools: &[String]) -> std::result::Result<(), Error> {
        let missing = self.layered.iter().filter(|name| !tools.contains(name));
        let missing: Vec<_> = missing
            .map(|name| format!("there is no tool `{name}` to apply a layer to"))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Configuration, missing.join("\n")))
    }
}

impl Server {
    /// Limits the total rate of calls to all handlers, for example to `100/s`, `10/min burst 20`, `1000/h per
    /// caller` or `60/min per claim tenant`. Unlimited by default. A handler's `rate` option applies in addition to this limit.
    ///
    /// A caller is identified by its credentials ([`Principal`](crate::Principal)) or, if it has none, by its session
    /// or connection. All anonymous HTTP requests that use 2026-07-28 are treated as a single caller.
    ///
    /// `per claim NAME` counts calls with the same value of this claim of their [`Principal`](crate::Principal) together, and `per
    /// header NAME` those with the same [trusted header](crate::handler::RequestInfo::trusted_header). All calls without a value
    /// share one quota.
    ///
    /// Calls that exceed the rate are rejected with an error that states when to retry. Start-up fails if the rate is
    /// invalid.
    pub fn rate(mut self, rate: &str) -> Self {
        match Rate::parse(rate) {
            Ok(rate) => self.wrapping.rate = Some(rate),
            Err(problem) => self.faults.push(problem),
        }
        self
    }

    /// Limits the total rate of calls to all definitions with this tag, which share one quota, for example because they use the
    /// same service. The rates of the server and of each handler apply in addition. Can be called more than once, also for the
    /// same tag.
    ///
    /// ```
    /// let server = mcp_runtime::new_server!().rate_for("search", "60/min per claim tenant");
    /// ```
    ///
    /// Start-up fails if the tag is not used by any definition or if the [rate](Self::rate) is invalid.
    pub fn rate_for(mut self, tag: impl Into<String>, rate: &str) -> Self {
        match Rate::parse(rate) {
            Ok(rate) => {
                let quota = SharedQuota::new(tag.into(), rate);
                self.wrapping.quotas.push(Arc::new(quota));
            }
            Err(problem) => self.faults.push(problem),
        }
        self
    }

    /// Adds middleware that wraps every call to a tool, prompt, resource or completer. The middleware added first is
    /// the outermost.
    ///
    /// Middleware may inspect the call, change its arguments, continue with [`Next::run`], inspect and change the
    /// result, or answer the call itself:
    ///
    /// ```
    /// use mcp_runtime::prelude::*;
    /// use mcp_runtime::middleware::Kind;
    ///
    /// let server = new_server!().middleware(async |call, next| {
    ///     if call.kind() == Kind::Tool && call.name() == "delete" && call.principal().is_none() {
    ///         bail!("only authenticated callers may delete");
    ///     }
    ///     next.run(call).await
    /// });
    /// ```
    ///
    /// Get shared values from [`Call::context`], as in `call.context().state::<T>()`, or clone them into a closure that
    /// returns an `async move` block. Middleware runs within the call's time limit, and if it panics, only that call
    /// fails. Calls rejected by a rate limit do not reach middleware. In protocol version 2026-07-28, middleware runs
    /// in each round of a call; see [`Call::round`].
    pub fn middleware<M>(mut self, function: M) -> Self
    where
        // The second bound lets the compiler infer the parameters of an `async` closure.
        M: Middleware + Fn(Call, Next) -> <M as Middleware>::Future,
    {
        self.wrapping.around.push(middleware::function(function));
        self
    }
}

#[cfg(feature = "tower")]
impl Server {
    /// Like [`middleware`](Self::middleware), but wraps every call in a tower layer instead of a function. If a server
    /// has both layers and functions, the first to be added is the outermost.
    ///
    /// The layer is applied once, to a [`Next`]. The layer sees a handler's failure as a response rather than an error.
    /// If the layer's own service returns an error, the call fails, and the cause is logged but not sent to the client.
    pub fn layer<L>(mut self, layer: L) -> Self
    where
        L: Layer<Next, Service: CallService> + Send + Sync + 'static,
    {
        let layer = tower::layer(layer, |_| true);
        self.wrapping.around.push(layer);
        self
    }

    /// Wraps calls to a single tool in a tower layer. Start-up fails if the tool is unknown.
    pub fn layer_tool<L>(mut self, name: impl Into<String>, layer: L) -> Self
    where
        L: Layer<Next, Service: CallService> + Send + Sync + 'static,
    {
        let name = name.into();
        self.wrapping.layered.push(name.clone());
        let applies = move |call: &Call| call.kind() == Kind::Tool && call.name() == name;
        let layer = tower::layer(layer, applies);
        self.wrapping.around.push(layer);
        self
    }
}
