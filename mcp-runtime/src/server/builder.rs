//! Builds a server from the definitions collected by the macros and the settings added by the author.

use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use mcp_core::limits::Limits;
use mcp_extra::sanitize::Sanitizer;
#[cfg(feature = "skills")]
use mcp_extra::skills::Skills;
#[cfg(feature = "tower")]
use mcp_extra::tower::{self, CallService, Layer};
use mcp_settings::ServerEnvironment;
use mcp_stores::Backend;

use crate::context::{
    Capability, EnvironmentHeaders, OnceStore, ServerControl, ServerHandle, States,
};
use crate::dispatch::{Admission, CacheHints, ServerAddOn, ServerParts, ServerShared};
use crate::error::{Error, ErrorKind};
use crate::extension;
use crate::extension::{Extension, Extensions, ServerChanges};
#[cfg(feature = "tower")]
use crate::handler::definition::Kind;
use crate::handler::definition::Selected;
use crate::handler::handler_error::Result;
use crate::handler::middleware::{Call, Middleware, Next, UnlinkedMiddleware};
use crate::handler::option::StoresByType;
use crate::handler::{middleware, rules};
use crate::observe::Observers;
use crate::protocol::encode::CacheHint;
use crate::rate::{Rate, SharedQuota};
use crate::registry::{MethodReceiver, ToolSource};
use crate::seal::SealingKey;
use crate::server::tags::TagSettings;
use crate::types::{CacheScope, Icon, Implementation};

/// A server that has not been started yet, together with its settings.
///
/// The server serves every annotated function that is linked into the program, unless the selection is narrowed with
/// [`only`](Self::only) or [`tags`](Self::tags). Definitions and settings are checked only when the server starts, and
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
    pub(super) environment: ServerEnvironment,
    pub(super) environment_headers: EnvironmentHeaders,
    pub(super) receivers: Vec<MethodReceiver>,
    pub(super) selected: Option<Vec<Selected>>,
    pub(super) prefixes: Vec<(String, Vec<Selected>)>,
    pub(super) tags: Vec<String>,
    pub(super) tag_scopes: Vec<(String, Vec<String>)>,
    pub(super) tag_settings: TagSettings,
    pub(super) tool_sources: Vec<Arc<dyn ToolSource>>,
    pub(super) offered: Vec<Capability>,
    pub(super) extensions: ExtensionSettings,
    pub(super) page_size: usize,
    pub(super) logging: bool,
    pub(super) argument_errors: bool,
    pub(super) expose_errors: bool,
    pub(super) check_outputs: bool,
    pub(super) cache: CacheHints,
    pub(super) admission: Admission,
    pub(super) sealing_keys: Vec<SealingKey>,
    pub(super) wrapping: WrappingSettings,
    /// Mistakes found in the settings so far, to be reported at startup.
    pub(super) faults: Vec<String>,
    pub(super) backend: Backend,
    pub(super) once_store: Option<Arc<dyn OnceStore>>,
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

/// A kind of result that clients may cache, for use with [`Server::cache`].
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
            page_size: 1_000,
            logging: true,
            argument_errors: false,
            expose_errors: false,
            check_outputs: true,
            cache: CacheHints::default(),
            admission: Admission::default(),
            sealing_keys: Vec::new(),
            wrapping: WrappingSettings::default(),
            faults: Vec::new(),
            backend: Backend::new(),
            once_store: None,
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

    /// Sets the URL of the server's website. The URL is sent to clients that use protocol version 2025-11-25 or later.
    pub fn website(mut self, url: impl Into<String>) -> Self {
        self.identity.website_url = Some(url.into());
        self
    }

    /// Adds an icon, which is sent to clients that use protocol version 2025-11-25 or later. Start-up fails if the
    /// icon's source is not an `https:` or `data:` URI.
    pub fn icon(mut self, icon: Icon) -> Self {
        let verdict = rules::icon(&icon.src).into_result();
        self.faults
            .extend(verdict.err().map(|problem| format!("server: {problem}")));
        self.identity.icons.push(icon);
        self
    }

    /// Sets the instructions that a model should read before it uses the server, which can explain, for example, how
    /// its tools work together and what to do first.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// Serves only these functions instead of all functions that are linked into the program. If combined with
    /// [`tags`](Self::tags), both selections are served.
    ///
    /// ```
    /// # use mcp_runtime::prelude::*;
    /// # #[tool] fn add() {}
    /// # #[prompt] fn greet() -> &'static str { "" }
    /// let server = new_server!().only([tool(add), prompt(greet)]);
    /// ```
    ///
    /// Start-up fails if a function is not annotated or is annotated as a different kind of handler.
    pub fn only(mut self, functions: impl IntoIterator<Item = Selected>) -> Self {
        self.selected.get_or_insert_default().extend(functions);
        self
    }

    /// Serves only the functions that have one of these tags instead of all functions that are linked into the program.
    /// Can be called more than once.
    ///
    /// Start-up fails if a tag is not used by any definition.
    pub fn tags(mut self, tags: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.tags.extend(tags.into_iter().map(Into::into));
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

    /// Sets the maximum number of items on a list page. Defaults to 1,000; the minimum is 1.
    pub fn page_size(mut self, items: usize) -> Self {
        self.page_size = items.max(1);
        self
    }

    /// Sets whether handlers may send log messages to clients. Defaults to `true`.
    pub fn logging(mut self, offered: bool) -> Self {
        self.logging = offered;
        self
    }

    /// Sets whether invalid tool arguments cause error -32602 instead of a tool result for clients that use protocol
    /// version 2025-06-18 or earlier. Defaults to `false`, so that the model can read the error message and try again.
    pub fn invalid_arguments_as_errors(mut self, as_errors: bool) -> Self {
        self.argument_errors = as_errors;
        self
    }

    /// Sets whether models may read the messages of all errors that handlers return, including their causes. Defaults
    /// to `false`, so models read only messages that are [exposed](crate::HandlerError).
    ///
    /// Use this for servers that run for a single user on the user's machine, where errors do not contain secrets.
    /// Errors are logged in either case. Panic messages are never sent.
    pub fn expose_errors(mut self, expose: bool) -> Self {
        self.expose_errors = expose;
        self
    }

    /// Sets whether tool results are validated against their output schemas before they are sent. Defaults to `true`.
    /// If a result is invalid, the client receives an internal error and the mismatch is logged.
    ///
    /// Results of type [`Json<T>`](crate::Json) are valid by construction, so checking them is free unless the server
    /// has middleware or a sanitizer. Disable this check if dynamic tools return large results that are known to be
    /// valid.
    ///
    /// Source: revision 2025-06-18 and later, server/tools, "Output Schema".
    pub fn check_outputs(mut self, check: bool) -> Self {
        self.check_outputs = check;
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
    pub fn cache(mut self, what: Cacheable, ttl: Duration, scope: CacheScope) -> Self {
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
    /// A store that is set by itself, such as with [`once_store`](Self::once_store), takes precedence.
    pub fn backend(mut self, backend: impl Into<Backend>) -> Self {
        self.backend = backend.into();
        self
    }

    /// Sets the store that records the work done by [`Context::once`](crate::Context::once), so that the work runs at
    /// most once even if a client resends a round of a call. [`MemoryOnceStore`](crate::once::MemoryOnceStore) is
    /// sufficient for a single instance.
    pub fn once_store(mut self, store: impl OnceStore) -> Self {
        self.once_store = Some(Arc::new(store));
        self
    }

    /// Adds something that the server gets as a whole, and no tool by an option of its own:
    /// `new_server!().with(…)`. What can be added implements [`ServerAddOn`].
    pub fn with(mut self, add_on: impl ServerAddOn) -> Self {
        add_on.add_to(&mut self.added);
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
        let functions = functions.into_iter().collect();
        self.prefixes.push((prefix.into(), functions));
        self
    }
}

// Values that handlers share: state, and receivers for the methods in `#[server]` blocks.

impl Server {
    /// Shares a value with every handler that takes [`State<T>`](crate::State). Only one value of each type is kept; a
    /// second value of the same type replaces the first.
    pub fn state<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.states.insert(Arc::new(value));
        self
    }

    /// Shares a value that is already in an [`Arc`]. Otherwise works like [`state`](Self::state).
    pub fn shared_state<T: Send + Sync + 'static>(mut self, value: Arc<T>) -> Self {
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
    /// let server = new_server!().state_with(async || {
    ///     let url = std::env::var("DATABASE_URL").map_err(|_| "`DATABASE_URL` is not set")?;
    ///     Ok::<_, Box<dyn std::error::Error + Send + Sync>>(Pool::connect(&url).await?)
    /// });
    /// # drop(server);
    /// ```
    ///
    /// A running server creates the value before it accepts requests and after definitions and settings have been
    /// checked; if that fails, the server does not start. Commands such as `check`, `tools` and `install`, clients in
    /// the same process, and a [mounted service](Self::into_http_service) create the value on the first call to a
    /// handler that takes it. If that fails, the call fails, and the next call tries again. The same failure is logged
    /// only once, and the errors of all these calls refer to that line of the log.
    ///
    /// Otherwise works like [`state`](Self::state).
    pub fn state_with<T, E, F>(mut self, make: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        T: Send + Sync + 'static,
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
        F: Future<Output = Result<T, E>> + Send + 'static,
    {
        self.states.insert_later(make);
        self
    }

    /// Serves the methods in the `#[server]` blocks of `T` by calling them on `value`. Start-up fails if the value for
    /// any `#[server]` block is missing, unless the server [serves only](Self::only) functions of others.
    pub fn handlers<T: Send + Sync + 'static>(self, value: T) -> Self {
        self.shared_handlers(Arc::new(value))
    }

    /// Serves the methods of a value that is already in an [`Arc`], for example because the routes of an axum program
    /// share it. Otherwise works like [`handlers`](Self::handlers).
    pub fn shared_handlers<T: Send + Sync + 'static>(mut self, value: Arc<T>) -> Self {
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
    /// Adds a protocol extension. Can be called more than once.
    ///
    /// Start-up fails if two extensions use the same name, or if an extension uses a name from the core protocol.
    ///
    /// Source: revision 2026-07-28, basic/extensions.
    pub fn extension(mut self, mut extension: Extension) -> Self {
        let ServerChanges {
            middleware,
            capabilities,
        } = extension.take_additions();
        self.wrapping.around.extend(middleware);
        self.offered.extend(capabilities);
        self.extensions.0.push(extension);
        self
    }
}

#[cfg(feature = "skills")]
impl Server {
    /// Serves skills, which are folders with instructions for models. Start-up fails if any skill is invalid, and all
    /// mistakes are reported together.
    ///
    /// Source: the extension `io.modelcontextprotocol/skills`.
    pub fn skills(self, skills: Skills) -> Self {
        self.extension(skills.into_extension())
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
    /// header NAME` those with the same [trusted header](crate::request::RequestInfo::trusted_header). All calls without a value
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

    /// Applies `clean`, after any sanitizers added earlier, to all text that a model reads: tool results and errors,
    /// prompt messages, resource contents, and the names and values in structured content.
    ///
    /// ```
    /// use std::borrow::Cow;
    ///
    /// let server = mcp_runtime::new_server!()
    ///     .sanitize(mcp_runtime::text::strip_invisible)
    ///     .sanitize(|text| Cow::Owned(text.replace("hunter2", "***")));
    /// ```
    ///
    /// URIs, `_meta`, images and audio remain unchanged, and numbers in structured content keep all their digits. If
    /// `clean` panics, or gives two members of an object the same name, the call fails with an internal error.
    ///
    /// Source: revision 2026-07-28, server/tools, "Security Considerations".
    pub fn sanitize(
        self,
        clean: impl for<'a> Fn(&'a str) -> Cow<'a, str> + Send + Sync + 'static,
    ) -> Self {
        self.with(Sanitizer::new(clean))
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
