//! What all channels of one server share.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::cancellation::CancellationToken;
#[cfg(any(feature = "auth", feature = "cli", feature = "testing"))]
use crate::context::Caller;
use crate::context::{Change, Control, Edit, List, OnceStore, ServerHandle, States};
use crate::dispatch::admission::Admission;
use crate::dispatch::notices::Notices;
use crate::dispatch::rates::Rates;
use crate::dispatch::seal::Seal;
use crate::error::Error;
use crate::handler::middleware::Next;
use crate::handler::sanitize::Sanitizer;
use crate::limits::Limits;
#[cfg(any(feature = "cli", feature = "testing"))]
use crate::protocol::ProtocolVersion;
use crate::protocol::encode::{CacheHint, Identity};
use crate::rate::Rate;
use crate::registry::{Places, Registry, Snapshot};
use crate::telemetry::Hooks;
use crate::types::{
    CompletionsCapability, ListChangedCapability, LoggingCapability, ResourcesCapability,
    ServerCapabilities,
};

/// What all channels of one server share.
pub(crate) struct Dispatcher {
    pub(super) settings: Settings,
    pub(super) registry: Arc<Registry>,
    pub(super) shared: Arc<Shared>,
    pub(super) rates: Rates,
    /// Places for tools that block a thread.
    pub(super) blocking: Places,
}

/// What the author of the server decided.
pub(crate) struct Settings {
    pub(crate) identity: Identity,
    pub(crate) instructions: Option<String>,
    pub(crate) limits: Limits,
    pub(crate) states: Arc<States>,
    pub(crate) seal: Seal,
    /// Who remembers what was done once, besides the call itself.
    pub(crate) once_store: Option<Arc<dyn OnceStore>>,
    /// Whether log messages are offered.
    pub(crate) logging: bool,
    /// Whether clients up to 2025-06-18 get -32602 for arguments that do not fit, rather than a tool result.
    pub(crate) argument_errors: bool,
    /// Whether results are compared with output schemas.
    pub(crate) check_outputs: bool,
    /// How long `server/discover` and the four lists may be reused.
    pub(crate) cache: CacheHints,
    /// Who wants to know of spans.
    pub(crate) hooks: Hooks,
    /// How often handlers may be called, all together.
    pub(crate) rate: Option<Rate>,
    /// What stands around handlers.
    pub(crate) around: Next,
    /// What is done to all text that a model reads.
    pub(crate) sanitizer: Option<Sanitizer>,
    pub(crate) admission: Admission,
}

/// How long results may be reused that are not a resource.
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
        registry: Arc<Registry>,
        shared: Arc<Shared>,
    ) -> Arc<Self> {
        Arc::new(Self {
            rates: Rates::new(settings.rate, &settings.limits),
            blocking: Places::new(settings.limits.blocking),
            settings,
            registry,
            shared,
        })
    }

    /// Whether blocking tools run, also those whose calls were given up.
    pub(crate) fn is_blocking(&self) -> bool {
        self.blocking.in_use()
    }

    /// The caller with the scopes that come with those that were granted.
    #[cfg(feature = "auth")]
    pub(crate) fn admit(&self, caller: Caller) -> Caller {
        self.settings.admission.admit(caller)
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.settings.limits
    }

    pub(crate) fn identity(&self) -> &Identity {
        &self.settings.identity
    }

    pub(super) fn notices(&self) -> &Notices {
        &self.shared.notices
    }

    pub(super) fn handle(&self) -> ServerHandle {
        ServerHandle(Arc::clone(&self.shared) as Arc<dyn Control>)
    }

    /// The resources this caller may use that have a definition: items of a list with commas between.
    #[cfg(any(feature = "cli", feature = "testing"))]
    pub(crate) fn defined_resources(&self, caller: &Caller, version: ProtocolVersion) -> String {
        let caller = self.settings.admission.admit(caller.clone());
        self.registry
            .snapshot()
            .seen_by(&caller)
            .defined_resources(version)
    }

    /// All scopes that anything needs that is served now, in order.
    #[cfg(feature = "auth")]
    pub(crate) fn scopes(&self) -> std::collections::BTreeSet<String> {
        self.registry.snapshot().scopes()
    }

    /// Something that is served and needs scopes, which strangers lack.
    #[cfg(feature = "http")]
    pub(crate) fn closed_to_strangers(&self) -> Option<String> {
        let snapshot = self.registry.snapshot();
        let name = snapshot.needs_scopes().map(str::to_owned);
        name.filter(|_| !self.settings.admission.trusts_anonymous)
    }

    /// What the server offers, from what is registered now.
    pub(super) fn capabilities(&self, snapshot: &Snapshot) -> ServerCapabilities {
        let list = |offered: bool| offered.then_some(ListChangedCapability { list_changed: true });
        ServerCapabilities {
            tools: list(snapshot.has_tools()),
            prompts: list(snapshot.has_prompts()),
            resources: snapshot.has_resources().then_some(ResourcesCapability {
                subscribe: true,
                list_changed: true,
            }),
            completions: snapshot
                .has_completers()
                .then_some(CompletionsCapability {}),
            logging: self.settings.logging.then_some(LoggingCapability {}),
            ..ServerCapabilities::default()
        }
    }
}

impl std::fmt::Debug for Dispatcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dispatcher")
            .field("identity", self.identity())
            .finish_non_exhaustive()
    }
}

/// What a [`ServerHandle`] reaches; it exists before the server starts.
#[derive(Default)]
pub(crate) struct Shared {
    notices: Notices,
    registry: OnceLock<Arc<Registry>>,
    /// Changes made before the start, kept for it.
    early: Mutex<Vec<Edit>>,
    shutdown: CancellationToken,
}

impl Shared {
    /// Says when the server is to stop.
    pub(crate) fn shutdown(&self) -> &CancellationToken {
        &self.shutdown
    }

    /// What was changed before the start, in order.
    pub(crate) fn take_early(&self) -> Vec<Edit> {
        std::mem::take(&mut *self.early.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Attaches the registry; from here on changes are made at once.
    ///
    /// # Errors
    ///
    /// If a change that was asked for while the registry was built cannot be made.
    pub(crate) fn attach(&self, registry: &Arc<Registry>) -> Result<(), Error> {
        let mut early = self.early.lock().unwrap_or_else(PoisonError::into_inner);
        for edit in early.drain(..) {
            registry.edit(edit)?;
        }
        // A server starts once, because starting consumes it.
        let _ = self.registry.set(Arc::clone(registry));
        Ok(())
    }
}

impl Control for Shared {
    fn notify(&self, change: Change) {
        self.notices.post(&change);
    }

    fn edit(&self, edit: Edit) -> Result<bool, Error> {
        let list = edit.list.kind();
        let registry = {
            let mut early = self.early.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(registry) = self.registry.get() else {
                early.push(edit);
                return Ok(true);
            };
            Arc::clone(registry)
        };
        let edited = registry.edit(edit)?;
        if !edited.audience.is_empty() {
            self.notices.post_list(list, &edited.audience);
        }
        Ok(edited.changed)
    }

    fn names(&self, list: List) -> Vec<String> {
        self.registry
            .get()
            .map(|registry| registry.snapshot().names(list))
            .unwrap_or_default()
    }

    fn shut_down(&self) {
        self.shutdown.cancel();
    }
}
