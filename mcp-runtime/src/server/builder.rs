//! Builds a server from what the macros collected and what the author adds.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::context::{Control, List, OnceStore, ServerHandle, States};
use crate::dispatch::seal::Seal;
#[cfg(feature = "sealing")]
use crate::dispatch::seal::StateKey;
use crate::dispatch::{Admission, CacheHints, Dispatcher, Settings, Shared};
use crate::error::{Error, ErrorKind};
use crate::handler::definition::Selected;
use crate::handler::{middleware, rules};
use crate::limits::Limits;
use crate::protocol::encode::{CacheHint, Identity};
use crate::registry::{Receiver, Registry, Sources};
use crate::server::around::Surroundings;
use crate::telemetry::Hooks;
use crate::types::{CacheScope, Icon, Implementation};

/// A server, being built.
///
/// It serves every annotated function that is linked into the program, unless told otherwise by [`only`](Self::only) or
/// [`group`](Self::group). Nothing is checked until it starts; then everything that is wrong is reported at once.
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
#[must_use = "a server does nothing until it runs"]
pub struct Server {
    identity: Implementation,
    instructions: Option<String>,
    limits: Limits,
    states: States,
    receivers: Vec<Receiver>,
    selected: Option<Vec<Selected>>,
    groups: Vec<String>,
    pub(super) group_scopes: Vec<(String, Vec<String>)>,
    offered: Vec<List>,
    page_size: usize,
    logging: bool,
    argument_errors: bool,
    check_outputs: bool,
    cache: CacheHints,
    pub(super) admission: Admission,
    #[cfg(feature = "sealing")]
    state_keys: Vec<StateKey>,
    pub(super) surroundings: Surroundings,
    /// What is wrong with the settings so far.
    pub(super) faults: Vec<String>,
    once_store: Option<Arc<dyn OnceStore>>,
    hooks: Hooks,
    #[cfg(feature = "http")]
    pub(super) http: crate::transport::HttpOptions,
    shared: Arc<Shared>,
}

/// A server named after the package that says it: `Server::new` with the name and version of its `Cargo.toml`.
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

/// A result that a client may reuse, for [`Server::cache`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cacheable {
    /// All of those below.
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
    /// A server that introduces itself by this name and version.
    ///
    /// [`new_server!()`](crate::new_server!) takes both from your package.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            identity: Implementation::new(name, version),
            instructions: None,
            limits: Limits::default(),
            states: States::default(),
            receivers: Vec::new(),
            selected: None,
            groups: Vec::new(),
            group_scopes: Vec::new(),
            offered: Vec::new(),
            page_size: 1_000,
            logging: true,
            argument_errors: false,
            check_outputs: true,
            cache: CacheHints::default(),
            admission: Admission::default(),
            #[cfg(feature = "sealing")]
            state_keys: Vec::new(),
            surroundings: Surroundings::default(),
            faults: Vec::new(),
            once_store: None,
            hooks: Hooks::default(),
            #[cfg(feature = "http")]
            http: crate::transport::HttpOptions::new(),
            shared: Arc::default(),
        }
    }

    /// A name for people. Sent to clients of 2025-06-18 and later.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.identity.title = Some(title.into());
        self
    }

    /// What the server is for, in a sentence or two. Sent to clients of 2025-11-25 and later.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.identity.description = Some(description.into());
        self
    }

    /// Where to read more. Sent to clients of 2025-11-25 and later.
    pub fn website(mut self, url: impl Into<String>) -> Self {
        self.identity.website_url = Some(url.into());
        self
    }

    /// A picture, besides those already given. Sent to clients of 2025-11-25 and later. One that is not an `https:` or `data:` URI
    /// is an error at start-up.
    pub fn icon(mut self, icon: Icon) -> Self {
        let verdict = rules::icon(&icon.src).into_result();
        self.faults
            .extend(verdict.err().map(|problem| format!("server: {problem}")));
        self.identity.icons.push(icon);
        self
    }

    /// What a model should know before it uses the server: how its tools belong together, what to do first.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// Shares a value with every handler that takes [`State<T>`](crate::State). One per type: a second one replaces the
    /// first.
    pub fn state<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.states.insert(Arc::new(value));
        self
    }

    /// Shares a value that is shared already.
    pub fn shared_state<T: Send + Sync + 'static>(mut self, value: Arc<T>) -> Self {
        self.states.insert(value);
        self
    }

    /// Serves the methods of `value`: those of its `#[server]` blocks. Unless [`only`](Self::only) or
    /// [`group`](Self::group) choose what is served, methods without a value are an error at start-up.
    pub fn handlers<T: Send + Sync + 'static>(self, value: T) -> Self {
        self.shared_handlers(Arc::new(value))
    }

    /// Serves the methods of a value that is shared already, with the routes of an axum program for instance. Otherwise like
    /// [`handlers`](Self::handlers).
    pub fn shared_handlers<T: Send + Sync + 'static>(mut self, value: Arc<T>) -> Self {
        self.receivers.push(Receiver::new(value));
        self
    }

    /// Serves these functions, rather than all that are linked in. Together with [`group`](Self::group), both.
    ///
    /// ```
    /// # use mcp_runtime::prelude::*;
    /// # #[tool] fn add() {}
    /// # #[prompt] fn greet() -> &'static str { "" }
    /// let server = new_server!().only([tool(add), prompt(greet)]);
    /// ```
    ///
    /// A function that is not annotated, or not as what it is chosen for, is an error at start-up.
    pub fn only(mut self, functions: impl IntoIterator<Item = Selected>) -> Self {
        self.selected.get_or_insert_default().extend(functions);
        self
    }

    /// Serves the functions of this group, rather than all that are linked in. May be repeated.
    pub fn group(mut self, name: impl Into<String>) -> Self {
        self.groups.push(name.into());
        self
    }

    /// Offers a list that may be empty at the start, because definitions come through [`handle`](Self::handle) later.
    ///
    /// Clients learn once what a server offers. Without this, those that connect before the first definition of a kind
    /// is there do not ask for it again. Once there was something in a list, it stays offered.
    pub fn offers(mut self, list: List) -> Self {
        self.offered.push(list);
        self
    }

    /// Sends every report of progress, so that tests see them all.
    #[cfg(feature = "testing")]
    pub(crate) fn report_all_progress(&mut self) {
        self.limits.progress = u32::MAX;
    }

    /// How much a client may ask of the server.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The most items on one page of a list. Default 1,000; at least 1.
    pub fn page_size(mut self, items: usize) -> Self {
        self.page_size = items.max(1);
        self
    }

    /// Whether handlers may send log messages to clients. Default `true`.
    pub fn logging(mut self, offered: bool) -> Self {
        self.logging = offered;
        self
    }

    /// Answers arguments that do not fit a tool's schema with -32602 rather than with a tool result, to clients of
    /// revisions up to 2025-06-18. Default `false`: the model reads what is wrong and tries again.
    pub fn argument_errors(mut self, as_errors: bool) -> Self {
        self.argument_errors = as_errors;
        self
    }

    /// Whether results of tools are compared with their output schemas before they are sent. Default `true`: a result that
    /// does not fit is an internal error to the client, and the log says what is wrong with it.
    ///
    /// Results of [`Json<T>`](crate::Json) fit by construction and cost nothing, unless there is middleware or a sanitizer. Turn
    /// this off where results of dynamic tools are large and surely fit.
    ///
    /// Source: revision 2025-06-18 and later, server/tools, "Output Schema".
    pub fn check_outputs(mut self, check: bool) -> Self {
        self.check_outputs = check;
        self
    }

    /// How long, and by whom, clients may reuse what they were told. Default: not at all, and only by whoever asked.
    ///
    /// Say [`CacheScope::Public`] only where everybody is told the same. Resources have options of their own.
    ///
    /// Source: revision 2026-07-28, server/utilities/caching. Clients of older revisions are not told.
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

    /// The keys that seal what a call remembers between two rounds: the first one seals, all open. Replaces those before.
    ///
    /// Without keys there is one of this process: a call cannot go on at another instance, or after a restart. To change
    /// keys, put the new one first, and leave the old one out after [`Limits::state_time`].
    #[cfg(feature = "sealing")]
    pub fn state_keys(mut self, keys: impl IntoIterator<Item = StateKey>) -> Self {
        self.state_keys = keys.into_iter().collect();
        self
    }

    /// The keys that seal what a call remembers, from an environment variable: separated by commas, the one that seals
    /// first, each as [`StateKey::parse`] reads it.
    ///
    /// A variable that is missing or holds anything else is an error at start-up.
    #[cfg(feature = "sealing")]
    pub fn state_keys_from_env(mut self, variable: &str) -> Self {
        let text = std::env::var(variable).unwrap_or_default();
        let keys = text.split(',').map(str::trim).filter(|key| !key.is_empty());
        match keys.map(StateKey::parse).collect::<Option<Vec<_>>>() {
            Some(keys) if !keys.is_empty() => self.state_keys = keys,
            Some(_) => self.faults.push(format!(
                "the environment variable `{variable}` holds no keys; `openssl rand -base64 32` makes one"
            )),
            None => self.faults.push(format!(
                "the environment variable `{variable}` holds a key that is not 32 bytes in base64 or hexadecimal; \
                 `openssl rand -base64 32` makes one"
            )),
        }
        self
    }

    /// Remembers what [`Context::once`](crate::Context::once) did, so that it is done at most once also when a client sends
    /// a round of a call again. [`MemoryStore`](crate::MemoryStore) is enough for a server of one instance.
    pub fn once_store(mut self, store: impl OnceStore) -> Self {
        self.once_store = Some(Arc::new(store));
        self
    }

    /// Calls this with the span of each request, right after it was made, and with what the caller says is its place in a
    /// trace: for programs that export spans and link them to those of the caller. Replaces the one before.
    ///
    /// The span has the names of OpenTelemetry; `docs/observability.md` lists them. It must not block. Not called for spans
    /// that no subscriber wants.
    ///
    /// ```
    /// # use mcp_runtime::prelude::*;
    /// let server = new_server!().on_span(|span, trace| {
    ///     if let Some(trace) = trace {
    ///         // What `tracing-opentelemetry` calls `set_parent`; see `examples/src/bin/traces.rs`.
    ///         println!("{:?} is part of {:032x}", span.id(), trace.trace_id());
    ///     }
    /// });
    /// ```
    #[cfg(feature = "telemetry")]
    pub fn on_span(
        mut self,
        hook: impl Fn(&tracing::Span, Option<&crate::TraceContext>) + Send + Sync + 'static,
    ) -> Self {
        self.hooks.on_span = Some(Arc::new(hook));
        self
    }

    /// A handle to the server, for background tasks: change notices, what is registered, stopping it.
    ///
    /// Starting a server consumes it, so take the handle before. What is registered through it before the start is there
    /// from the start; change notices sent before it reach nobody.
    #[must_use]
    pub fn handle(&self) -> ServerHandle {
        ServerHandle(Arc::clone(&self.shared) as Arc<dyn Control>)
    }

    /// Whether keys were given that other instances may share.
    #[cfg(all(feature = "http", feature = "sealing"))]
    pub(super) fn has_state_keys(&self) -> bool {
        !self.state_keys.is_empty()
    }

    /// Who the server says it is.
    #[cfg(feature = "cli")]
    pub(super) fn identity(&self) -> &Implementation {
        &self.identity
    }

    /// Checks everything and makes the server ready for connections.
    pub(super) fn start(self) -> Result<(Arc<Dispatcher>, Arc<Shared>), Error> {
        let mut faults = self.faults;
        faults.extend(self.limits.faults());
        if !faults.is_empty() {
            return Err(Error::new(ErrorKind::Configuration, faults.join("\n")));
        }
        let states = Arc::new(self.states);
        let registry = Arc::new(Registry::build(Sources {
            only: self.selected,
            groups: self.groups,
            group_scopes: self.group_scopes,
            receivers: self.receivers,
            states: Arc::clone(&states),
            early: self.shared.take_early(),
            offered: self.offered,
            page_size: self.page_size,
        })?);
        self.shared.attach(&registry)?;
        let surroundings = self.surroundings;
        surroundings.check(&registry.snapshot().names(List::Tools))?;
        #[cfg(feature = "sealing")]
        let seal = Seal::new(&self.state_keys, self.limits.state_time);
        #[cfg(not(feature = "sealing"))]
        let seal = Seal::new(self.limits.state_time);
        let settings = Settings {
            identity: Identity::new(self.identity),
            instructions: self.instructions,
            limits: self.limits,
            states,
            seal,
            once_store: self.once_store,
            logging: self.logging,
            argument_errors: self.argument_errors,
            check_outputs: self.check_outputs,
            cache: self.cache,
            rate: surroundings.rate,
            around: middleware::chain(surroundings.around),
            sanitizer: surroundings.sanitizer,
            hooks: self.hooks,
            admission: self.admission,
        };
        crate::telemetry::describe();
        let dispatcher = Dispatcher::new(settings, registry, Arc::clone(&self.shared));
        Ok((dispatcher, self.shared))
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("identity", &self.identity)
            .finish_non_exhaustive()
    }
}
