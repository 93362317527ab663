//! Where messages come from, as far as a transport knows it.

use std::net::SocketAddr;

use crate::telemetry::{Refused, refused};

/// Where messages come from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    peer: Option<SocketAddr>,
    #[cfg(feature = "telemetry")]
    pub(super) seen: Seen,
}

/// What spans say of it, by the names of OpenTelemetry.
#[cfg(feature = "telemetry")]
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// `network.transport`
    pub(super) transport: Option<&'static str>,
    /// `network.protocol.name`
    pub(super) protocol: Option<&'static str>,
    /// `mcp.session.id`: a digest of it, far shorter than the id, because who knows the id can use the session.
    pub(super) session: Option<u64>,
    /// What the transport says of the caller's trace; what the message says comes first.
    pub(super) trace: Option<super::TraceContext>,
}

impl Origin {
    /// From standard input.
    pub(crate) fn pipe() -> Self {
        Self::of("pipe", None)
    }

    /// From a TCP connection.
    pub(crate) fn tcp(peer: Option<SocketAddr>) -> Self {
        Self::of("tcp", peer)
    }

    /// From a local socket.
    #[cfg(unix)]
    pub(crate) fn unix() -> Self {
        Self::of("unix", None)
    }

    #[cfg_attr(
        not(feature = "telemetry"),
        expect(unused_variables, reason = "only spans say it")
    )]
    fn of(transport: &'static str, peer: Option<SocketAddr>) -> Self {
        Self {
            peer,
            #[cfg(feature = "telemetry")]
            seen: Seen {
                transport: Some(transport),
                ..Seen::default()
            },
        }
    }

    /// From a request over HTTP, whose header fields can be asked for.
    #[cfg(feature = "http")]
    #[cfg_attr(
        not(feature = "telemetry"),
        expect(unused_variables, reason = "only spans say it")
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
                seen: Seen {
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
    pub(super) fn peer(&self) -> Option<SocketAddr> {
        self.peer
    }

    /// Something that came from here was refused.
    pub(crate) fn refused(&self, kind: Refused) {
        refused(kind, self.peer);
    }

    /// Does what a message from here asks for: requests that begin meanwhile are from here.
    #[inline]
    #[cfg_attr(
        not(feature = "telemetry"),
        expect(clippy::unused_self, reason = "only spans say it")
    )]
    pub(crate) fn cover<T>(&self, work: impl FnOnce() -> T) -> T {
        #[cfg(feature = "telemetry")]
        let _restore = current::Covering::begin(self);
        work()
    }
}

#[cfg(feature = "telemetry")]
pub(super) use current::with_current;

#[cfg(feature = "telemetry")]
mod current {
    use std::cell::RefCell;

    use super::Origin;

    thread_local! {
        /// Where what this thread decides about is from.
        static CURRENT: RefCell<Option<Origin>> = const { RefCell::new(None) };
    }

    /// Puts back what was there before.
    pub(super) struct Covering(Option<Origin>);

    impl Covering {
        pub(super) fn begin(origin: &Origin) -> Self {
            Self(CURRENT.with(|current| current.replace(Some(origin.clone()))))
        }
    }

    impl Drop for Covering {
        fn drop(&mut self) {
            let before = self.0.take();
            // The thread may be ending; then there is nothing to put back.
            let _ = CURRENT.try_with(|current| current.replace(before));
        }
    }

    /// Looks at where the message is from that this thread decides about.
    pub(in crate::telemetry) fn with_current<T>(look: impl FnOnce(&Origin) -> T) -> T {
        let unknown = Origin::default();
        CURRENT.with(|current| match &*current.borrow() {
            Some(origin) => look(origin),
            None => look(&unknown),
        })
    }
}
