//! The state shared by all requests to a server.

use std::sync::Arc;

use hyper::Response;

use crate::cancellation::CancellationToken;
use crate::context::PendingChallenges;
use crate::dispatch::Dispatcher;
use crate::http::access::authentication::Authentication;
use crate::http::heartbeat::Heartbeat;
use crate::http::options::HttpOptions;
use crate::http::response::answer;
use crate::http::response::body::HttpBody;
use crate::http::response::event_source::EventSource;
use crate::http::response::stream_permits::StreamPermits;
use crate::http::sessions::live_sessions::Sessions;
use crate::limits::Limits;

/// The state shared by all requests to a server.
pub(super) struct ServiceState {
    pub(super) dispatcher: Arc<Dispatcher>,
    pub(super) options: HttpOptions,
    pub(super) authentication: Authentication,
    /// Challenges for callers whose handlers failed in event streams.
    pub(super) pending_challenges: Arc<PendingChallenges>,
    pub(super) sessions: Arc<Sessions>,
    pub(super) shutdown: CancellationToken,
    pub(super) heartbeat: Arc<Heartbeat>,
    /// Permits for event streams that wait for events.
    pub(super) stream_permits: Arc<StreamPermits>,
}

impl ServiceState {
    pub(super) fn new(
        dispatcher: Arc<Dispatcher>,
        mut options: HttpOptions,
        shutdown: CancellationToken,
    ) -> Self {
        Self {
            authentication: Authentication::new(&mut options),
            pending_challenges: Arc::default(),
            sessions: Sessions::new(&dispatcher, &options),
            stream_permits: StreamPermits::new(dispatcher.limits()),
            dispatcher,
            options,
            shutdown,
            heartbeat: Arc::default(),
        }
    }

    pub(super) fn limits(&self) -> &Limits {
        self.dispatcher.limits()
    }

    /// Returns a response that sends events as they occur.
    pub(super) fn event_stream(&self, events: impl EventSource + 'static) -> Response<HttpBody> {
        answer::event_stream(HttpBody::events(events, self.limits(), &self.shutdown))
    }

    /// Completes when the server has been told to stop and the time allowed for finishing requests has run out.
    pub(super) async fn overdue(&self) {
        self.shutdown.cancelled().await;
        tokio::time::sleep(self.limits().calls.drain_timeout).await;
    }
}
