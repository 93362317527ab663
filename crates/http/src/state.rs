//! The state shared by all requests to a server.

use std::sync::Arc;

use hyper::{Method, Response};
use mcp_core::budget::ByteBudget;
use mcp_core::context::ChallengesForNextRequests;
use mcp_core::dispatch::Dispatcher;
use mcp_core::limits::Limits;
use mcp_core::sync::CancellationToken;
use mcp_protocol::negotiation::KnownClientInfo;
use mcp_stores::{ReadinessProbe, ReadyCheck};

use crate::access::Authentication;
use crate::handler_watch::HandlerWatch;
use crate::health::{HealthProbe, answer_probe};
use crate::options::HttpOptions;
use crate::request::guards::KnownHost;
use crate::response;
use crate::response::{EventSource, HttpBody, StreamPermits};
use crate::sessions::session_registry::SessionRegistry;

/// The state shared by all requests to a server.
pub(super) struct ServiceState {
    pub(super) dispatcher: Arc<Dispatcher>,
    pub(super) options: HttpOptions,
    pub(super) known_host: KnownHost,
    pub(super) known_client: KnownClientInfo,
    pub(super) authentication: Authentication,
    /// Challenges that callers receive on their next request because a handler failed on an event stream.
    pub(super) pending_challenges: Arc<ChallengesForNextRequests>,
    pub(super) sessions: Arc<SessionRegistry>,
    pub(super) shutdown: CancellationToken,
    /// Cancelled at the first stop signal, which may arrive some time before `shutdown` is cancelled.
    pub(super) stop_announced: CancellationToken,
    readiness: ReadinessProbe,
    pub(super) handler_watch: Arc<HandlerWatch>,
    /// Permits for event streams that wait for events.
    pub(super) stream_permits: Arc<StreamPermits>,
    /// Answers and events that clients have not yet read, or that are kept for clients that reconnect.
    pub(super) unsent: Arc<ByteBudget>,
}

/// Ends the server's background work when a service that is embedded in another program is dropped.
impl Drop for ServiceState {
    fn drop(&mut self) {
        self.dispatcher.abandon_work();
    }
}

impl ServiceState {
    pub(super) fn new(
        dispatcher: Arc<Dispatcher>,
        mut options: HttpOptions,
        ready_checks: Vec<ReadyCheck>,
        shutdown: CancellationToken,
    ) -> Self {
        let unsent = ByteBudget::new(dispatcher.limits().http.max_unsent_bytes);
        let ready_limit = dispatcher.limits().http.ready_check_timeout;
        Self {
            readiness: ReadinessProbe::new(ready_checks, ready_limit),
            stop_announced: CancellationToken::default(),
            authentication: Authentication::new(&mut options),
            pending_challenges: Arc::default(),
            sessions: SessionRegistry::new(&dispatcher, &options, &unsent),
            unsent,
            stream_permits: StreamPermits::new(dispatcher.limits()),
            dispatcher,
            options,
            known_host: KnownHost::default(),
            known_client: KnownClientInfo::default(),
            shutdown,
            handler_watch: Arc::default(),
        }
    }

    pub(super) fn limits(&self) -> &Limits {
        self.dispatcher.limits()
    }

    /// Answers a probe about this process's health.
    pub(super) async fn answer_probe(
        &self,
        probe: HealthProbe,
        method: &Method,
    ) -> Response<HttpBody> {
        let is_good = async {
            match probe {
                HealthProbe::Live => true,
                HealthProbe::Ready => !self.is_stopping() && self.readiness.is_ready().await,
            }
        };
        answer_probe(method, is_good).await
    }

    fn is_stopping(&self) -> bool {
        self.stop_announced.is_cancelled() || self.shutdown.is_cancelled()
    }

    /// Returns a response that sends events as they occur.
    pub(super) fn event_stream(&self, events: impl EventSource + 'static) -> Response<HttpBody> {
        response::event_stream_response(HttpBody::from_events(
            events,
            self.limits(),
            &self.shutdown,
        ))
    }

    /// Completes when shutdown has begun and the time allowed for finishing requests has run out.
    pub(super) async fn drain_timed_out(&self) {
        self.shutdown.cancelled().await;
        tokio::time::sleep(self.limits().calls.drain_timeout).await;
    }
}
