//! The origins of messages, as far as they are known to the transport.

use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::lock::lock;
use crate::observe::meter::REFUSALS;
use crate::observe::{TraceContext, is_metered};

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

// --- Counts refusals and logs at most ten of each kind per second, with the peer's address but never the payload.

/// Maximum number of refusals of each kind that are logged per second.
const MOST: u32 = 10;

/// Kinds of refusals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefusalKind {
    /// The input was not a message, or not a valid message in the current state.
    Malformed,
    TooLarge,
    /// The message was received too slowly.
    TooSlow,
    /// A limit on concurrent work was reached.
    TooMany,
    /// The caller is not authenticated.
    Unauthorized,
    /// The caller lacks permission.
    Forbidden,
    /// The request was addressed to a host that is not allowed.
    Host,
    /// The request came from a web page that is not allowed to use the server.
    Origin,
    /// The limit on connections was reached.
    Connection,
    /// The server was temporarily unable to serve the request.
    Unavailable,
}

impl RefusalKind {
    const ALL: usize = Self::Unavailable as usize + 1;

    const fn as_str(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::TooLarge => "too_large",
            Self::TooSlow => "too_slow",
            Self::TooMany => "too_many",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::Host => "host",
            Self::Origin => "origin",
            Self::Connection => "connection",
            Self::Unavailable => "unavailable",
        }
    }

    /// Returns the kind for an HTTP response status, or `None` if the request was not refused.
    pub(crate) fn of_status(status: u16) -> Option<Self> {
        Some(match status {
            401 => Self::Unauthorized,
            403 => Self::Forbidden,
            408 => Self::TooSlow,
            413 | 431 => Self::TooLarge,
            // Clients deliberately check whether a session still exists and whether a stream is available. Status 429
            // is reported by the code that detects the exceeded limit.
            404 | 405 | 429 => return None,
            400..500 => Self::Malformed,
            503 => Self::Unavailable,
            _ => return None,
        })
    }
}

/// Counts a refusal, and logs it unless too many of its kind were logged within the last second.
pub(crate) fn record_refusal(kind: RefusalKind, peer: Option<SocketAddr>) {
    static WINDOWS: [Mutex<RefusalLogWindow>; RefusalKind::ALL] =
        [const { Mutex::new(RefusalLogWindow::new()) }; RefusalKind::ALL];
    REFUSALS.count(&[("kind", kind.as_str())]);
    let peer = peer.or_else(|| with_current_origin(Origin::peer));
    let window = WINDOWS.get(kind as usize);
    let admitted = window.and_then(|window| {
        let mut window = lock(window);
        window.admit_log_line(Instant::now())
    });
    let Some(left_out) = admitted else { return };
    let (kind, peer) = (kind.as_str(), peer.map(tracing::field::display));
    if left_out == 0 {
        tracing::warn!(kind, peer, "refused");
    } else {
        tracing::warn!(kind, peer, left_out, "refused, with others left out");
    }
}

/// Log entries for one kind of refusal in the current second.
struct RefusalLogWindow {
    began: Option<Instant>,
    logged: u32,
    left_out: u64,
}

impl RefusalLogWindow {
    const fn new() -> Self {
        Self {
            began: None,
            logged: 0,
            left_out: 0,
        }
    }

    /// Returns `None` if the refusal must not be logged; otherwise, returns the number of refusals omitted since the
    /// last entry.
    fn admit_log_line(&mut self, now: Instant) -> Option<u64> {
        let is_over = |began| now.saturating_duration_since(began) >= Duration::from_secs(1);
        if self.began.is_none_or(is_over) {
            self.began = Some(now);
            self.logged = 0;
        }
        if self.logged >= MOST {
            self.left_out = self.left_out.saturating_add(1);
            return None;
        }
        self.logged = self.logged.saturating_add(1);
        Some(std::mem::take(&mut self.left_out))
    }
}

#[cfg(test)]
mod tests {
    use crate::observe::origin::*;

    #[test]
    fn ten_a_second_are_logged_and_the_rest_is_counted() {
        let (mut window, start) = (RefusalLogWindow::new(), Instant::now());
        let logged = (0..25).filter_map(|_| window.admit_log_line(start)).count();
        assert_eq!(logged, 10);
        let later = start + Duration::from_secs(1);
        assert_eq!(window.admit_log_line(later), Some(15));
        assert_eq!(window.admit_log_line(later), Some(0));
    }
}
