//! The dispatcher: settings, definitions and limits, shared by all of a server's channels; the state behind a server's
//! handle, which exists even before the server starts; its middleware; and background work that belongs to the server.

use std::any::Any;
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use tracing::Instrument as _;

use crate::budget::{ByteBudget, ClientNetwork, Holder, LazyCharge};
use crate::context::client_questions::QuestionSettings;
use crate::context::{
    Caller, Capability, ChangeListeners, ChangeLog, ChangeNotification, Edit, EditStep,
    EnvironmentHeaders, ExtensionNotification, LoggedChange, OnceStore, RequestSource,
    ServerControl, ServerHandle, States, stopped,
};
use crate::dispatch::admission::{Admission, RateLimits};
use crate::dispatch::notifications::NotificationListeners;
use crate::dispatch::request::{Request, RequestOrigin};
use crate::dispatch::serve_hooks::ServeHooks;
use crate::dispatch::sources::{RequestInstructions, ServerSources};
use crate::dispatch::target::CallTarget;
use crate::error::Error;
use crate::extension::Extensions;
use crate::handler::access::{Access, NotifiedCallers};
use crate::handler::dynamic::DynamicTool;
use crate::handler::middleware::{KeptMembers, Next, Rewrites, UnlinkedMiddleware, chain_around};
use crate::handler::option::{OptionWrapping, ReadMember, WrappingPlace};
use crate::handler::tags::TagSelection;
use crate::host::{TaskSet, Work, timeout};
use crate::jsonrpc::{ErrorObject, Member};
use crate::limits::Limits;
use crate::observe::Observers;
use crate::order;
use crate::protocol::ProtocolVersion;
use crate::protocol::encode::{CacheHint, Identity};
use crate::rate::{Rate, RateCounter};
use crate::registry::{CallPermits, Callable, CursorSeal, Registry, ServerRules, Snapshot};
use crate::seal::Seal;
use crate::sync::{CancellationToken, lock};
use crate::types::{
    ClientCapabilities, ListChangedCapability, LoggingCapability, ResourcesCapability,
    ServerCapabilities,
};

/// State shared by all of a server's channels.
pub struct Dispatcher {
    pub(super) settings: Settings,
    pub(super) registry: Arc<Registry>,
    pub(super) shared: Arc<ServerShared>,
    pub(super) rates: RateLimits,
    /// Permits for tools that block a thread.
    pub(super) blocking: CallPermits,
    pub(super) state_failures: LoggedStateFailures,
    /// What the questions of all calls have in common.
    pub(super) questions: Arc<QuestionSettings>,
    /// The bytes of all subscriptions.
    subscribed: Arc<ByteBudget>,
}

/// Server settings, as configured through the builder.
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a setting, independent of the others"
)]
pub struct Settings {
    pub identity: Identity,
    pub instructions: Option<String>,
    pub limits: Limits,
    pub states: Arc<States>,
    /// Environment variables that stand in for headers, if any.
    pub environment_headers: Option<Arc<EnvironmentHeaders>>,
    pub seal: Seal,
    /// Seals the cursors of lists.
    pub cursors: Arc<dyn CursorSeal>,
    /// Store for `once` results, in addition to the call's own journal.
    pub once_store: Option<Arc<dyn OnceStore>>,
    /// `true` if models may read the messages of all errors.
    pub expose_errors: bool,
    /// `true` if results are validated against output schemas.
    pub check_outputs: bool,
    /// Cache hints for `server/discover` and the four lists.
    pub cache: CacheHints,
    /// Those who are told of requests and failures.
    pub observers: Observers,
    /// Rate limit for all handlers combined.
    pub rate: Option<Rate>,
    /// The middleware that wraps handlers.
    pub middleware: LinkedMiddleware,
    /// What changes everything that models read.
    pub rewrites: Rewrites,
    pub admission: Admission,
    pub extensions: Arc<Extensions>,
    /// The rules for all definitions.
    pub rules: Arc<ServerRules>,
    /// What instructions say besides, for each request.
    pub request_instructions: Option<RequestInstructions>,
    /// The sources that are asked besides the registry.
    pub sources: ServerSources,
    /// What runs when the server begins to serve.
    pub on_serve: ServeHooks,
}

/// Cache hints for results other than resource contents.
#[derive(Clone, Copy, Debug, Default)]
pub struct CacheHints {
    pub discover: CacheHint,
    pub tools: CacheHint,
    pub prompts: CacheHint,
    pub resources: CacheHint,
    pub templates: CacheHint,
}

impl Dispatcher {
    pub fn new(
        settings: Settings,
        counter: Option<Arc<dyn RateCounter>>,
        registry: Arc<Registry>,
        shared: Arc<ServerShared>,
    ) -> Arc<Self> {
        let questions = QuestionSettings {
            limits: settings.limits.elicitation.clone(),
            once_store: settings.once_store.clone(),
            spawn: {
                let server = Arc::clone(&shared);
                Box::new(move |work| server.spawn(work))
            },
        };
        let dispatcher = Arc::new(Self {
            questions: Arc::new(questions),
            rates: RateLimits::new(settings.rate.clone(), counter, &settings.limits),
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

    /// Starts the server's background work unless it has already started.
    #[inline]
    pub fn begin_work(&self) {
        self.shared.work.begin();
    }

    /// Returns `true` while any blocking tool is running, even if its call was abandoned.
    pub fn is_blocking(&self) -> bool {
        self.blocking.in_use()
    }

    /// Waits until the server's background work has ended, for at most `limits.calls.drain_timeout`.
    pub async fn drain_work(&self) {
        self.shared
            .work
            .drain(self.limits().calls.drain_timeout)
            .await;
    }

    /// Drops the server's background work.
    pub fn abandon_work(&self) {
        self.shared.work.drop_all();
    }

    /// Returns the caller with all scopes that its granted scopes imply.
    pub fn admit(&self, caller: Caller) -> Caller {
        self.settings.admission.admit(caller)
    }

    /// Returns the origin of a request that does not belong to a session or connection.
    pub fn stateless_origin(
        &self,
        caller: impl Into<Caller>,
        network: Option<ClientNetwork>,
        requested: Option<TagSelection>,
    ) -> RequestOrigin {
        let caller = self.settings.admission.admit(caller.into());
        RequestOrigin::stateless(caller, network, requested)
    }

    /// Returns `true` if an argument of any tool is mirrored in an HTTP header.
    pub fn mirrors_arguments(&self) -> bool {
        self.registry.snapshot().mirrors_arguments()
    }

    /// Returns the tool with this name if a request with this origin may use it. Used to compare headers with
    /// arguments.
    pub fn usable_tool(&self, name: &str, origin: &RequestOrigin) -> Option<Arc<Callable>> {
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
    pub(super) async fn make_states(&self) -> Result<(), Error> {
        self.settings.states.make_all().await
    }

    pub fn limits(&self) -> &Limits {
        &self.settings.limits
    }

    pub fn identity(&self) -> &Identity {
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
    pub fn scopes(&self) -> std::collections::BTreeSet<String> {
        let mut scopes = self.registry.snapshot().scopes();
        let methods = self.settings.extensions.callables();
        let open = methods.map(|method| &method.access);
        let open = open.filter(|access| !access.is_hidden_from_some());
        scopes.extend(open.flat_map(Access::required_scopes).map(str::to_owned));
        scopes
    }

    /// Returns the name of a definition that anonymous callers cannot use because it requires scopes. Returns `None` if
    /// there is no such definition or anonymous callers are trusted.
    pub fn closed_to_anonymous(&self) -> Option<String> {
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
        offered.logging = Some(LoggingCapability::default());
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

/// The state behind a [`ServerHandle`](crate::context::ServerHandle). It exists even before the server starts.
#[derive(Default)]
pub struct ServerShared {
    pub(super) notifications: NotificationListeners,
    registry: OnceLock<Arc<Registry>>,
    /// Set when the server starts.
    extensions: OnceLock<Arc<Extensions>>,
    /// Changes requested before the server starts, which are applied when it starts.
    early: Mutex<Vec<Edit>>,
    /// Set when the server starts.
    pub(super) dispatcher: OnceLock<Weak<dyn Any + Send + Sync>>,
    shutdown: CancellationToken,
    pub(super) work: ServerWork,
    /// Set when the server starts, if other processes serve together with this one.
    change_log: OnceLock<Arc<dyn ChangeLog>>,
}

impl ServerShared {
    /// Returns the token that is cancelled when the server must stop.
    pub fn shutdown(&self) -> &CancellationToken {
        &self.shutdown
    }

    /// Returns the first value that `find` returns for a tool inserted by a change requested before the server starts.
    fn find_in_inserted_tools<T>(&self, find: impl FnMut(&DynamicTool) -> Option<T>) -> Option<T> {
        let early = lock(&self.early);
        let steps = early.iter().flat_map(|edit| &edit.steps);
        steps.filter_map(EditStep::inserted_tool).find_map(find)
    }

    /// Passes on each tool that was inserted before the server started.
    pub fn each_inserted_tool(&self, mut pass: impl FnMut(&DynamicTool)) {
        self.find_in_inserted_tools(|tool| {
            pass(tool);
            None::<()>
        });
    }

    /// Takes the changes requested before the server started, in order.
    pub fn take_early(&self) -> Vec<Edit> {
        std::mem::take(&mut *lock(&self.early))
    }

    /// Exchanges changes with other processes, starting once the server accepts requests and ending when it stops.
    pub fn exchange_changes(self: &Arc<Self>, log: Arc<dyn ChangeLog>) {
        let listeners: Arc<dyn ChangeListeners> = Arc::<Self>::clone(self);
        for work in Arc::clone(&log).exchange(listeners) {
            self.spawn(work);
        }
        // The value cannot have been set yet: starting consumes the server, so this runs only once.
        let _ = self.change_log.set(log);
    }

    /// Returns the log in which changes are announced, if there is one.
    pub(super) fn change_log(&self) -> Option<&Arc<dyn ChangeLog>> {
        self.change_log.get()
    }

    /// Attaches the registry and the extensions. Later changes are applied immediately.
    ///
    /// # Errors
    ///
    /// Fails if a change that was requested while the registry was being built cannot be applied.
    pub fn attach(
        &self,
        registry: &Arc<Registry>,
        extensions: &Arc<Extensions>,
    ) -> Result<(), Error> {
        let _ = self.extensions.set(Arc::clone(extensions));
        let mut early = lock(&self.early);
        for edit in early.drain(..) {
            registry.edit(edit)?;
        }
        // The registry cannot have been set yet: starting consumes the server, so this runs only once.
        let _ = self.registry.set(Arc::clone(registry));
        Ok(())
    }
}

impl ChangeListeners for ServerShared {
    fn notify_of_logged(&self, LoggedChange { change, audience }: &LoggedChange) {
        match change {
            Some(change) => self.notifications.post(change, audience),
            None => self.notifications.post_everything(),
        }
    }

    fn stopped(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(stopped(ServerControl::stopping(self)))
    }
}

impl ServerControl for ServerShared {
    fn spawn(&self, work: Pin<Box<dyn Future<Output = ()> + Send>>) {
        self.work.spawn(work);
    }

    fn dispatcher(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.dispatcher.get()?.upgrade()
    }

    fn keep_until_end(&self, value: Box<dyn Any + Send>) {
        self.work.keep(value);
    }

    fn stopping(&self) -> Vec<CancellationToken> {
        vec![self.shutdown.clone(), self.work.stopping().clone()]
    }

    fn notify(&self, change: ChangeNotification, audience: &NotifiedCallers) {
        // A session that is resumed here is notified of what is not in the log yet. If it does not know of this change by
        // then, it is one of the listeners below.
        if let Some(log) = self.change_log.get() {
            log.announce(&change, audience);
        }
        self.notifications.post(&change, audience);
    }

    fn notify_extension(&self, notification: ExtensionNotification) {
        let extensions = self.extensions.get();
        let name = &*notification.method;
        let Some(extensions) = extensions else {
            tracing::error!(notification = name, "the server has not been started");
            return;
        };
        if let Some(member) = extensions.member_of(name, notification.key.is_some()) {
            self.notifications.post_extension(member, &notification);
        }
    }

    fn has_listeners(&self, notification: &str, key: Option<&str>) -> bool {
        let member = self.extensions.get();
        let member = member.and_then(|all| all.member_of(notification, key.is_some()));
        member.is_some_and(|member| self.notifications.are_followed(member, key))
    }

    fn has_subscribers(&self, uri: &str) -> bool {
        self.change_log.get().is_some() || self.notifications.have_subscribers(uri)
    }

    fn edit(&self, edit: Edit) -> Result<bool, Error> {
        let list = edit.list.list_kind();
        let registry = {
            let mut early = lock(&self.early);
            let Some(registry) = self.registry.get() else {
                early.push(edit);
                return Ok(true);
            };
            Arc::clone(registry)
        };
        let edited = registry.edit(edit)?;
        if !edited.audience.is_empty() {
            self.notifications.post_list(list, &edited.audience);
        }
        Ok(edited.changed)
    }

    fn names(&self, list: Capability) -> Vec<String> {
        self.registry
            .get()
            .map(|registry| registry.snapshot().names(list))
            .unwrap_or_default()
    }

    fn has_extension(&self, id: &str, version: ProtocolVersion) -> bool {
        let extensions = self.extensions.get();
        extensions.is_some_and(|extensions| extensions.has(id, version))
    }

    fn may_notify(
        &self,
        notification: &str,
        version: ProtocolVersion,
        client: &ClientCapabilities,
    ) -> bool {
        let extensions = self.extensions.get();
        extensions.is_some_and(|extensions| extensions.may_notify(notification, version, client))
    }

    fn may_reach_work_of(&self, tool: &str, caller: &Caller) -> Result<bool, ErrorObject> {
        let Some(registry) = self.registry.get() else {
            return Ok(false);
        };
        registry.snapshot().seen_by(caller).may_reach_work_of(tool)
    }

    fn shut_down(&self) {
        self.shutdown.cancel();
    }
}

/// A server's middleware and what add-ons put around it.
///
/// There is one chain for most calls, linked at start-up. A tool with an option that add-ons serve has a chain of its own, linked at
/// its first call, because the links depend on its options; a run in the background has only the links that concern results.
pub struct LinkedMiddleware {
    /// The author's middleware, which is around all calls.
    plain: Next,
    /// What add-ons put around the tools with their options, the outermost first.
    wrappings: Vec<OptionWrapping>,
    /// `true` if a request may need one of them whose option its tool does not have.
    are_requested: bool,
    /// The members of requests that they read.
    reads: Vec<Member>,
}

/// What is put around a call.
pub(super) struct CallWrapping<'t> {
    pub(super) around: &'t Next,
    /// The members of the call's request that are read there.
    reads: &'t [Member],
}

impl CallWrapping<'_> {
    /// Returns the members that are read, as `member` returns their raw JSON.
    pub(super) fn kept(&self, member: &ReadMember<'_>) -> KeptMembers {
        let kept = self.reads.iter();
        let kept = kept.filter_map(|read| Some((*read, member(*read)?.into())));
        kept.collect()
    }
}

impl LinkedMiddleware {
    /// Links the author's middleware, given from the outermost to the innermost.
    #[must_use]
    pub fn new(around: &[UnlinkedMiddleware], mut wrappings: Vec<OptionWrapping>) -> Self {
        order::sort_by(&mut wrappings, |one, other| one.place.cmp(&other.place));
        Self {
            plain: chain_around(Next::default(), around),
            are_requested: wrappings.iter().any(|it| it.is_requested.is_some()),
            reads: wrappings.iter().filter_map(|it| it.reads).collect(),
            wrappings,
        }
    }

    /// Returns `true` if the server has no middleware of its own for plain calls.
    pub(super) fn is_empty(&self) -> bool {
        self.plain.is_handler()
    }

    /// Returns `true` if nothing is put around calls to the target, whatever their requests contain.
    #[inline]
    pub(super) fn is_empty_for(&self, target: &CallTarget) -> bool {
        let is_wrapped = match target.callable() {
            Some(callable) => callable.is_wrapped(),
            // The tool has to be found first.
            None => matches!(target, CallTarget::Sourced(_)),
        };
        !is_wrapped && self.plain.is_handler() && !self.are_requested
    }

    /// Returns what is put around a run of a call that continues in the background.
    pub(super) fn for_runs(&self, callable: &Callable) -> Next {
        chain_around(
            self.plain.clone(),
            self.links(callable, WrappingPlace::Results),
        )
    }

    /// Returns what is put around a call. `member` returns the raw JSON of a member of its request.
    pub(super) fn for_call<'t>(
        &'t self,
        (member, source): (&ReadMember<'_>, &RequestSource),
        target: &'t CallTarget,
    ) -> CallWrapping<'t> {
        match target.called_tool() {
            Some(tool)
                if tool.is_wrapped() || self.are_requested && self.is_requested(member, source) =>
            {
                CallWrapping {
                    around: tool.around.get_or_init(|| self.around(tool)),
                    reads: &self.reads,
                }
            }
            _ => CallWrapping {
                around: &self.plain,
                reads: &[],
            },
        }
    }

    /// Returns the members of a request that say what is put around a call, or that are read there.
    pub(super) fn members(&self) -> impl Iterator<Item = Member> {
        self.reads.iter().copied().chain([Member::Meta])
    }

    /// Returns `true` if a request may need a wrapping whose option its tool does not have.
    fn is_requested(&self, member: &ReadMember<'_>, source: &RequestSource) -> bool {
        self.wrappings
            .iter()
            .filter_map(|wrapping| wrapping.is_requested)
            .any(|is_requested| is_requested(member, source))
    }

    /// Links all that calls of a tool may need. Each link passes on the calls that do not need it.
    fn around(&self, tool: &Callable) -> Next {
        let background = self.for_runs(tool);
        let request = chain_around(background, self.links(tool, WrappingPlace::Request));
        chain_around(request, self.links(tool, WrappingPlace::Outermost))
    }

    /// Returns the links of the wrappings in one place, the outermost first.
    fn links(
        &self,
        tool: &Callable,
        place: WrappingPlace,
    ) -> impl DoubleEndedIterator<Item = &UnlinkedMiddleware> {
        let wrappings = self.wrappings.iter();
        wrappings
            .filter(move |it| it.place == place)
            .filter(|it| it.is_requested.is_some() || tool.has_option(it.option))
            .map(|it| &it.link)
    }
}

/// Time within which work must end after the stop signal, in addition to `limits.calls.drain_timeout`.
const OVERTIME: Duration = Duration::from_millis(500);

/// Background work, which starts once the server accepts requests and is dropped when the server shuts down.
#[derive(Default)]
pub(super) struct ServerWork {
    /// Set once the server accepts requests.
    is_serving: AtomicBool,
    /// Work submitted before the server accepts requests.
    early: Mutex<Vec<Work>>,
    running: Mutex<TaskSet>,
    /// Values that are dropped when the server shuts down.
    kept: Mutex<Vec<Box<dyn Any + Send>>>,
    /// Cancelled when the server stops serving requests.
    stopping: CancellationToken,
}

impl ServerWork {
    /// Runs the work submitted so far. From then on, new work runs immediately.
    pub(super) fn begin(&self) {
        if self.is_serving.load(Ordering::Relaxed) {
            return;
        }
        let early = {
            let mut early = lock(&self.early);
            self.is_serving.store(true, Ordering::Relaxed);
            std::mem::take(&mut *early)
        };
        for work in early {
            self.spawn(work);
        }
    }

    /// Runs a future to completion. Does nothing if the server has stopped serving requests.
    pub(super) fn spawn(&self, work: Work) {
        {
            let mut early = lock(&self.early);
            if !self.is_serving.load(Ordering::Relaxed) {
                early.push(work);
                return;
            }
        }
        let mut running = lock(&self.running);
        running.remove_ended();
        if !self.stopping.is_cancelled() {
            running.spawn(Box::pin(work.in_current_span()));
        }
    }

    pub(super) fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    /// Keeps a value until the server shuts down. Drops it immediately if the server has already shut down.
    pub(super) fn keep(&self, value: Box<dyn Any + Send>) {
        let mut kept = lock(&self.kept);
        // The lock is held, so `drop_kept` will drop any value that is pushed here.
        if !self.stopping.is_cancelled() {
            kept.push(value);
        }
    }

    /// Drops all work.
    fn drop_all(&self) {
        self.stopping.cancel();
        let running = std::mem::take(&mut *lock(&self.running));
        drop(running);
        self.drop_kept();
    }

    fn drop_kept(&self) {
        let early = std::mem::take(&mut *lock(&self.early));
        drop(early);
        let kept = std::mem::take(&mut *lock(&self.kept));
        drop(kept);
    }

    /// Signals all work to end and waits for it, for at most slightly longer than this time. Work that is still running
    /// after that is dropped.
    pub(super) async fn drain(&self, within: Duration) {
        self.stopping.cancel();
        let mut running = std::mem::take(&mut *lock(&self.running));
        let _ = timeout(within.saturating_add(OVERTIME), running.join_all()).await;
        drop(running);
        self.drop_kept();
    }
}

/// Maximum number of failures to remember.
const FAILURES: usize = 64;

/// The failures that have been logged, each with the reference that identifies it in the log.
#[derive(Debug, Default)]
pub(super) struct LoggedStateFailures(Mutex<HashMap<String, String>>);

impl LoggedStateFailures {
    /// Returns the reference of a failure. Calls `log`, which returns a new reference, if the failure has not been logged
    /// yet.
    pub(super) fn reference(&self, message: String, log: impl FnOnce() -> String) -> String {
        if let Some(known) = lock(&self.0).get(&message) {
            return known.clone();
        }
        let reference = log();
        let mut logged = lock(&self.0);
        if logged.len() >= FAILURES {
            logged.clear();
        }
        logged.insert(message, reference.clone());
        reference
    }
}
