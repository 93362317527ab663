//! The dispatcher: settings, definitions and limits, shared by all of a server's channels.

use std::sync::{Arc, Weak};

use crate::budget::ClientNetwork;
use crate::budget::{ByteBudget, Holder, LazyCharge};
use crate::context::{
    Caller, EnvironmentHeaders, OnceStore, RequestSource, ServerControl, ServerHandle, States,
};
use crate::dispatch::admission::Admission;
use crate::dispatch::middleware::LinkedMiddleware;
use crate::dispatch::notifications::NotificationListeners;
use crate::dispatch::origin::RequestOrigin;
use crate::dispatch::rates::RateLimits;
use crate::dispatch::request::Request;
use crate::dispatch::seal::Seal;
use crate::dispatch::server_shared::ServerShared;
use crate::dispatch::sources::ServerSources;
use crate::dispatch::state_failures::LoggedStateFailures;
use crate::error::Error;
use crate::extension::Extensions;
#[cfg(feature = "auth")]
use crate::handler::access::Access;
use crate::handler::sanitize::Sanitizer;
use crate::handler::tags::TagSelection;
use crate::limits::Limits;
use crate::observe::Observers;
use crate::protocol::encode::{CacheHint, Identity};
use crate::rate::{Rate, RateCounter};
use crate::registry::Callable;
use crate::registry::{CallPermits, CursorSeal, Registry, ServerRules, Snapshot};
use crate::types::{ListChangedCapability, ResourcesCapability, ServerCapabilities};

/// State shared by all of a server's channels.
pub(crate) struct Dispatcher {
    pub(super) settings: Settings,
    pub(super) registry: Arc<Registry>,
    pub(super) shared: Arc<ServerShared>,
    pub(super) rates: RateLimits,
    /// Permits for tools that block a thread.
    pub(super) blocking: CallPermits,
    pub(super) state_failures: LoggedStateFailures,
    /// The bytes of all subscriptions.
    subscribed: Arc<ByteBudget>,
}

/// Server settings, as configured through the builder.
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a setting, independent of the others"
)]
pub(crate) struct Settings {
    pub(crate) identity: Identity,
    pub(crate) instructions: Option<String>,
    pub(crate) limits: Limits,
    pub(crate) states: Arc<States>,
    /// Environment variables that stand in for headers, if any.
    pub(crate) environment_headers: Option<Arc<EnvironmentHeaders>>,
    pub(crate) seal: Seal,
    /// Seals the cursors of lists.
    pub(crate) cursors: Arc<dyn CursorSeal>,
    /// Store for `once` results, in addition to the call's own journal.
    pub(crate) once_store: Option<Arc<dyn OnceStore>>,
    /// `true` if the logging capability is declared.
    pub(crate) logging: bool,
    /// `true` if clients that use protocol version 2025-06-18 or earlier receive error -32602 for invalid arguments
    /// rather than a tool result.
    pub(crate) argument_errors: bool,
    /// `true` if models may read the messages of all errors.
    pub(crate) expose_errors: bool,
    /// `true` if results are validated against output schemas.
    pub(crate) check_outputs: bool,
    /// Cache hints for `server/discover` and the four lists.
    pub(crate) cache: CacheHints,
    /// Those who are told of requests and failures.
    pub(crate) observers: Observers,
    /// Rate limit for all handlers combined.
    pub(crate) rate: Option<Rate>,
    /// The middleware that wraps handlers.
    pub(crate) middleware: LinkedMiddleware,
    /// Sanitizer for all text that a model reads.
    pub(crate) sanitizer: Option<Sanitizer>,
    pub(crate) admission: Admission,
    pub(crate) extensions: Arc<Extensions>,
    /// The rules for all definitions.
    pub(crate) rules: Arc<ServerRules>,
    /// `true` if the instructions contain a line for each tag.
    pub(crate) tags_in_instructions: bool,
    /// The sources that are asked besides the registry.
    pub(crate) sources: ServerSources,
}

/// Cache hints for results other than resource contents.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CacheHints {
    pub(crate) discover: CacheHint,
    pub(crate) tools: CacheHint,
    pub(crate) prompts: CacheHint,
    pub(crate) resources: CacheHint,
    pub(crate) templates: CacheHint,
}

impl Dispatcher {
    pub(crate) fn new(
        settings: Settings,
        counter: Option<Arc<dyn RateCounter>>,
        registry: Arc<Registry>,
        shared: Arc<ServerShared>,
    ) -> Arc<Self> {
        let dispatcher = Arc::new(Self {
            rates: RateLimits::new(settings.rate, counter, &settings.limits),
            blocking: CallPermits::new(settings.limits.calls.max_blocking),
            state_failures: LoggedStateFailures::default(),
            subscribed: ByteBudget::new(settings.limits.streams.max_subscription_bytes),
            settings,
            registry,
            shared,
        });
        // It cannot have been set yet: starting consumes the server, so this runs only once.
        let weak: Weak<Self> = Arc::downgrade(&dispatcher);
        let _ = dispatcher.shared.dispatcher.set(weak);
        dispatcher
    }

    /// Starts the server's background work unless it has already started. Must be called within a tokio runtime.
    #[inline]
    pub(crate) fn begin_work(&self) {
        self.shared.work.begin();
    }

    /// Returns `true` while any blocking tool is running, even if its call was abandoned.
    pub(crate) fn is_blocking(&self) -> bool {
        self.blocking.in_use()
    }

    /// Waits until the server's background work has ended, for at most `limits.calls.drain_timeout`.
    pub(crate) async fn drain_work(&self) {
        self.shared
            .work
            .drain(self.limits().calls.drain_timeout)
            .await;
    }

    /// Drops the server's background work.
    pub(crate) fn abandon_work(&self) {
        self.shared.work.drop_all();
    }

    /// Returns the caller with all scopes that its granted scopes imply.
    #[cfg(feature = "auth")]
    pub(crate) fn admit(&self, caller: Caller) -> Caller {
        self.settings.admission.admit(caller)
    }

    /// Returns the origin of a request that does not belong to a session or connection.
    pub(crate) fn stateless_origin(
        &self,
        caller: impl Into<Caller>,
        network: Option<ClientNetwork>,
        requested: Option<TagSelection>,
    ) -> RequestOrigin {
        let caller = self.settings.admission.admit(caller.into());
        RequestOrigin::stateless(caller, network, requested)
    }

    /// Returns `true` if an argument of any tool is mirrored in an HTTP header.
    pub(crate) fn mirrors_arguments(&self) -> bool {
        self.registry.snapshot().mirrors_arguments()
    }

    /// Returns the tool with this name if a request with this origin may use it. Used to compare headers with
    /// arguments.
    pub(crate) fn usable_tool(&self, name: &str, origin: &RequestOrigin) -> Option<Arc<Callable>> {
        let snapshot = self.registry.snapshot();
        let view = snapshot.seen_by(&origin.caller);
        let view = view.narrowed_to(origin.selection.as_ref());
        view.usable_tool(name).cloned()
    }

    /// Returns the source of request data that the message does not contain. The environment stands in for headers only
    /// if the caller is the user who started this process.
    pub(super) fn request_source(
        &self,
        request: &Request<'_>,
        source: &RequestSource,
    ) -> RequestSource {
        match source {
            RequestSource::Message => self.message_source(&request.caller),
            #[cfg(feature = "http")]
            RequestSource::Http { .. } => source.clone(),
            RequestSource::Environment(_) => source.clone(),
        }
    }

    /// Returns the source of this data for a message that was received without a source.
    pub(super) fn message_source(&self, caller: &Caller) -> RequestSource {
        match &self.settings.environment_headers {
            Some(headers) if headers.are_for(caller) => {
                RequestSource::Environment(Arc::clone(headers))
            }
            _ => RequestSource::Message,
        }
    }

    /// Creates all state values that do not exist yet.
    pub(crate) async fn make_states(&self) -> Result<(), Error> {
        self.settings.states.make_all().await
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.settings.limits
    }

    pub(crate) fn identity(&self) -> &Identity {
        &self.settings.identity
    }

    pub(super) fn notifications(&self) -> &NotificationListeners {
        &self.shared.notifications
    }

    /// Returns a charge for this client's subscriptions, of which there are none yet.
    pub(super) fn charge_subscriptions(&self, holder: Holder) -> LazyCharge {
        self.subscribed.lazy_charge(holder)
    }

    pub(super) fn handle(&self) -> ServerHandle {
        ServerHandle(Arc::clone(&self.shared) as Arc<dyn ServerControl>)
    }

    /// Returns all scopes that the current definitions require, sorted.
    #[cfg(feature = "auth")]
    pub(crate) fn scopes(&self) -> std::collections::BTreeSet<String> {
        let mut scopes = self.registry.snapshot().scopes();
        let methods = self.settings.extensions.callables();
        let open = methods.map(|method| &method.access);
        let open = open.filter(|access| !access.is_hidden_from_some());
        scopes.extend(open.flat_map(Access::required_scopes).map(str::to_owned));
        scopes
    }

    /// Returns the name of a definition that anonymous callers cannot use because it requires scopes. Returns `None` if
    /// there is no such definition or anonymous callers are trusted.
    pub(crate) fn closed_to_anonymous(&self) -> Option<String> {
        let snapshot = self.registry.snapshot();
        let mut methods = self.settings.extensions.callables();
        let mut method = || methods.find(|method| method.access.needs_scopes());
        let name = snapshot.needs_scopes().map(str::to_owned);
        let name = name.or_else(|| method().map(|method| (*method.name).to_owned()));
        name.filter(|_| !self.settings.admission.trusts_anonymous)
    }

    /// Returns `true` if resources are declared. Kept results count as resources.
    pub(super) fn has_resources(&self, snapshot: &Snapshot) -> bool {
        snapshot.has_resources() || self.settings.sources.have_resources()
    }

    /// Returns the server's capabilities, as determined by its current definitions.
    pub(super) fn capabilities(&self, snapshot: &Snapshot) -> ServerCapabilities {
        let mut list = ListChangedCapability::default();
        list.list_changed = true;
        let mut resources = ResourcesCapability::default();
        resources.subscribe = true;
        resources.list_changed = true;
        let mut offered = ServerCapabilities::default();
        offered.tools = snapshot.has_tools().then_some(list);
        offered.prompts = snapshot.has_prompts().then_some(list);
        offered.resources = self.has_resources(snapshot).then_some(resources);
        offered.completions = snapshot.has_completers().then(Default::default);
        offered.logging = self.settings.logging.then(Default::default);
        offered
    }
}

impl std::fmt::Debug for Dispatcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dispatcher")
            .field("identity", self.identity())
            .finish_non_exhaustive()
    }
}
