//! The origins of messages, as far as they are known to the transport.

use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::SocketAddr;

use crate::observe::{RefusalKind, TraceContext, is_metered, record_refusal};

/// The origin of one or more messages.
#[allow(dead_code, reason = "read by observers, which come with features")]
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    peer: Option<SocketAddr>,
    /// `network.transport`
    pub(crate) transport: Option<&'static str>,
    /// What is known only of HTTP requests, if this process has a meter.
    pub(crate) http: Option<Box<HttpOrigin>>,
}

/// What is known of an HTTP request.
#[allow(dead_code, reason = "read by observers, which come with features")]
#[derive(Clone, Debug, Default)]
pub(crate) struct HttpOrigin {
    /// `mcp.session.id`: a digest that is far shorter than the id, because anyone who knows the id can use the session.
    pub(crate) session: Option<u64>,
    /// The caller's trace context from the headers. A trace context in the message takes precedence.
    pub(crate) trace: Option<TraceContext>,
}

impl HttpOrigin {
    #[allow(dead_code, reason = "used by HTTP")]
    pub(crate) fn new(session: Option<&str>, trace: Option<TraceContext>) -> Self {
        let digest = |id: &str| {
            let mut hasher = DefaultHasher::new();
            id.hash(&mut hasher);
            hasher.finish()
        };
        Self {
            session: session.map(digest),
            trace,
        }
    }
}

thread_local! {
    /// The origin of the message that this thread is processing.
    static CURRENT: RefCell<Option<Origin>> = const { RefCell::new(None) };
}

impl Origin {
    /// Standard input.
    pub(crate) fn pipe() -> Self {
        Self::over_transport("pipe", None)
    }

    /// A TCP connection.
    pub(crate) fn tcp(peer: Option<SocketAddr>) -> Self {
        Self::over_transport("tcp", peer)
    }

    /// A local socket.
    #[cfg(unix)]
    pub(crate) fn unix() -> Self {
        Self::over_transport("unix", None)
    }

    fn over_transport(transport: &'static str, peer: Option<SocketAddr>) -> Self {
        Self {
            peer,
            transport: Some(transport),
            http: None,
        }
    }

    /// An HTTP request; `seen` returns what is known of it.
    #[allow(dead_code, reason = "used by HTTP")]
    pub(crate) fn http(peer: Option<SocketAddr>, seen: impl FnOnce() -> HttpOrigin) -> Self {
        Self {
            http: is_metered().then(|| Box::new(seen())),
            ..Self::tcp(peer)
        }
    }

    pub(crate) fn peer(&self) -> Option<SocketAddr> {
        self.peer
    }

    /// Counts and logs a refusal of a message or connection from this origin.
    pub(crate) fn record_refusal(&self, kind: RefusalKind) {
        record_refusal(kind, self.peer);
    }

    /// Runs `work` with this origin as the current one, so that requests started by `work` have this origin.
    #[inline]
    pub(crate) fn run_as_current<T>(&self, work: impl FnOnce() -> T) -> T {
        let _restore = is_metered().then(|| CurrentOriginGuard::begin(self));
        work()
    }
}

/// Restores the previous origin when dropped.
struct CurrentOriginGuard(Option<Origin>);

impl CurrentOriginGuard {
    fn begin(origin: &Origin) -> Self {
        Self(CURRENT.with(|current| current.replace(Some(origin.clone()))))
    }
}

impl Drop for CurrentOriginGuard {
    fn drop(&mut self) {
        let before = self.0.take();
        // If the thread is exiting, there is nothing to restore.
        let _ = CURRENT.try_with(|current| current.replace(before));
    }
}

/// Calls `look` with the origin of the message that this thread is processing, which is known only if the process has
/// a meter.
pub(crate) fn with_current_origin<T>(look: impl FnOnce(&Origin) -> T) -> T {
    let unknown = Origin::default();
    CURRENT.with(|current| match &*current.borrow() {
        Some(origin) => look(origin),
        None => look(&unknown),
    })
}
