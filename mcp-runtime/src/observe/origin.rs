//! The origins of messages, as far as they are known to the transport.

use std::net::SocketAddr;

use crate::observe::{RefusalKind, record_refusal};

/// The origin of one or more messages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    peer: Option<SocketAddr>,
    #[cfg(feature = "telemetry")]
    pub(crate) seen: OriginAttributes,
}

/// Span attributes, which follow OpenTelemetry's naming.
#[cfg(feature = "telemetry")]
#[derive(Clone, Debug, Default)]
pub(crate) struct OriginAttributes {
    /// `network.transport`
    pub(crate) transport: Option<&'static str>,
    /// `network.protocol.name`
    pub(crate) protocol: Option<&'static str>,
    /// `mcp.session.id`: a digest that is far shorter than the id, because anyone who knows the id can use the session.
    pub(crate) session: Option<u64>,
    /// The caller's trace context from the transport. A trace context in the message takes precedence.
    pub(crate) trace: Option<super::TraceContext>,
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

    #[cfg_attr(
        not(feature = "telemetry"),
        expect(unused_variables, reason = "only spans record it")
    )]
    fn over_transport(transport: &'static str, peer: Option<SocketAddr>) -> Self {
        Self {
            peer,
            #[cfg(feature = "telemetry")]
            seen: OriginAttributes {
                transport: Some(transport),
                ..OriginAttributes::default()
            },
        }
    }

    /// An HTTP request; `header` looks up one of its headers.
    #[cfg(feature = "http")]
    #[cfg_attr(
        not(feature = "telemetry"),
        expect(unused_variables, reason = "only spans record it")
    )]
    pub(crate) fn http<'h>(
        peer: Option<SocketAddr>,
        header: impl Fn(&'static str) -> Option<&'h str>,
    ) -> Self {
        let origin = Self::tcp(peer);
        #[cfg(feature = "telemetry")]
        let origin = {
            use std::hash::{DefaultHasher, Hash, Hasher};
            let trace = header("traceparent");
            let trace =
                trace.and_then(|parent| super::TraceContext::parse(parent, header("tracestate")));
            let digest = |id: &str| {
                let mut hasher = DefaultHasher::new();
                id.hash(&mut hasher);
                hasher.finish()
            };
            Self {
                seen: OriginAttributes {
                    protocol: Some("http"),
                    session: header("mcp-session-id").map(digest),
                    trace,
                    ..origin.seen
                },
                ..origin
            }
        };
        origin
    }

    #[cfg(feature = "telemetry")]
    pub(crate) fn peer(&self) -> Option<SocketAddr> {
        self.peer
    }

    /// Counts and logs a refusal of a message or connection from this origin.
    pub(crate) fn record_refusal(&self, kind: RefusalKind) {
        record_refusal(kind, self.peer);
    }

    /// Runs `work` with this origin as the current one, so that requests started by `work` have this origin.
    #[inline]
    #[cfg_attr(
        not(feature = "telemetry"),
        expect(clippy::unused_self, reason = "only spans record it")
    )]
    pub(crate) fn run_as_current<T>(&self, work: impl FnOnce() -> T) -> T {
        #[cfg(feature = "telemetry")]
        let _restore = current::CurrentOriginGuard::begin(self);
        work()
    }
}

#[cfg(feature = "telemetry")]
pub(crate) use current::with_current_origin;

#[cfg(feature = "telemetry")]
mod current {
    use std::cell::RefCell;

    use super::Origin;

    thread_local! {
        /// The origin of the message that this thread is processing.
        static CURRENT: RefCell<Option<Origin>> = const { RefCell::new(None) };
    }

    /// Restores the previous origin when dropped.
    pub(super) struct CurrentOriginGuard(Option<Origin>);

    impl CurrentOriginGuard {
        pub(super) fn begin(origin: &Origin) -> Self {
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

    /// Calls `look` with the origin of the message that this thread is processing.
    pub(crate) fn with_current_origin<T>(look: impl FnOnce(&Origin) -> T) -> T {
        let unknown = Origin::default();
        CURRENT.with(|current| match &*current.borrow() {
            Some(origin) => look(origin),
            None => look(&unknown),
        })
    }
}
