//! What the author of a server decides about HTTP.

use std::fmt;
use std::sync::Arc;

use super::event_store::EventStore;
use super::session_store::SessionStore;
#[cfg(feature = "auth")]
use crate::auth::Protected;

/// How a server is reached over HTTP: where, by which names, from which web pages.
///
/// The defaults let programs and web pages of this machine in, and nobody else: requests have to name a loopback host, and
/// a web page has to come from one.
#[derive(Clone)]
#[must_use]
pub struct HttpOptions {
    pub(super) path: String,
    pub(super) hosts: Vec<String>,
    pub(super) origins: Vec<String>,
    pub(super) sse_2024: bool,
    pub(super) sessions: HttpSessions,
    pub(super) events: Option<Arc<dyn EventStore>>,
    #[cfg(feature = "auth")]
    pub(super) protected: Option<Protected>,
}

/// How there are legacy sessions. Requests of 2026-07-28 have none in any case.
///
/// | | any instance serves | survives a restart | questions, log level, subscriptions, streams of a GET, DELETE |
/// |---|---|---|---|
/// | [`Memory`](Self::Memory) | no | no | yes |
/// | [`Store`](Self::Store) | yes, with a store they share | yes, with a store that does | yes |
/// | [`Sealed`](Self::Sealed) | yes, with [`state_keys`](crate::Server::state_keys) they share | yes, with the same keys | no |
/// | [`None`](Self::None) | yes | yes | no |
///
/// Clients of 2024-11-05 that keep a stream open ([`HttpOptions::sse_2024`]) have a session for as long as that connection,
/// whatever is chosen here.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum HttpSessions {
    /// Kept in the memory of the process.
    #[default]
    Memory,
    /// Kept by a store.
    Store(Arc<dyn SessionStore>),
    /// Kept by nobody: the id of a session is what was agreed on in its handshake, sealed, so that whoever has the key can
    /// go on.
    ///
    /// Nothing can be remembered later, so what needs that is neither offered nor served: log messages and their level,
    /// subscriptions, notices of changed lists, streams of a GET (405), DELETE (405), streams that can be resumed. The client
    /// counts as one that cannot be asked. Progress goes on the stream of its call. `notifications/cancelled` works at the
    /// instance where the call runs.
    ///
    /// Lasts for [`Limits::sealed_session_time`](crate::Limits::sealed_session_time). An id is at most
    /// [`Limits::sealed_session`](crate::Limits::sealed_session) characters; a client that says more of itself than fits is
    /// answered -32602.
    #[cfg(feature = "sealing")]
    Sealed,
    /// There are none: a handshake is answered, and forgotten. The header `MCP-Protocol-Version` says which revision a
    /// request is of; without it, 2025-03-26.
    ///
    /// Nothing is known of the client, and what [`Sealed`](Self::Sealed) cannot do, this cannot either. Nor can calls be
    /// cancelled.
    None,
}

impl fmt::Debug for HttpSessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Memory => "Memory",
            Self::Store(_) => "Store(…)",
            #[cfg(feature = "sealing")]
            Self::Sealed => "Sealed",
            Self::None => "None",
        })
    }
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            path: "/mcp".to_owned(),
            hosts: Vec::new(),
            origins: Vec::new(),
            sse_2024: false,
            sessions: HttpSessions::Memory,
            events: None,
            #[cfg(feature = "auth")]
            protected: None,
        }
    }
}

impl HttpOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether somebody thought of requests from other machines: of the hosts they name, or of who sends them.
    pub(crate) fn is_for_others(&self) -> bool {
        #[cfg(feature = "auth")]
        if self.protected.is_some() {
            return true;
        }
        !self.hosts.is_empty()
    }

    /// What is wrong with it, in a sentence each.
    #[cfg(feature = "auth")]
    pub(crate) fn faults(&self) -> Vec<String> {
        self.protected
            .as_ref()
            .map_or_else(Vec::new, Protected::faults)
    }

    /// The path of the endpoint.
    #[cfg(feature = "cli")]
    pub(crate) fn path_text(&self) -> &str {
        &self.path
    }

    /// The path of the endpoint, as clients see it. Default `/mcp`.
    ///
    /// A service that is mounted into another program answers at every path it is given; then this is where clients of
    /// revision 2024-11-05 are told to send their messages. Where axum nests it (feature `axum`), they are told the path that
    /// they came to.
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        if !self.path.starts_with('/') {
            self.path.insert(0, '/');
        }
        self
    }

    /// Lets in requests to this host, besides those to loopback names: `mcp.example.com`, with any port, or
    /// `mcp.example.com:8443` with that one. May be repeated.
    ///
    /// `*` lets in requests to every host. Only behind something that checks the name: otherwise a web page can reach the
    /// server by giving its own name the server's address.
    pub fn allow_host(mut self, host: impl Into<String>) -> Self {
        self.hosts.push(host.into().to_ascii_lowercase());
        self
    }

    /// Lets in requests from web pages of this origin, besides those of loopback names, and lets the browser read the
    /// answers (CORS): `https://app.example.com`. May be repeated. `*` lets in every web page.
    pub fn allow_origin(mut self, origin: impl Into<String>) -> Self {
        let origin = origin.into().to_ascii_lowercase();
        self.origins.push(origin.trim_end_matches('/').to_owned());
        self
    }

    /// Whether clients of revision 2024-11-05 are served, by a stream of events that a GET without a session opens.
    /// Default `false`.
    ///
    /// The stream is at the path of the endpoint, and, with [`Server::serve_http`](crate::Server::serve_http), at `/sse`.
    pub fn sse_2024(mut self, served: bool) -> Self {
        self.sse_2024 = served;
        self
    }

    /// How there are legacy sessions. Default [`HttpSessions::Memory`].
    pub fn sessions(mut self, sessions: HttpSessions) -> Self {
        self.sessions = sessions;
        self
    }

    /// Where events of streams are kept, so that clients can come back for the rest of a stream at any instance. Default:
    /// each instance keeps its own, in memory.
    ///
    /// Of use with [`HttpSessions::Store`] only.
    pub fn event_store(mut self, store: Arc<dyn EventStore>) -> Self {
        self.events = Some(store);
        self
    }

    /// Lets in only requests with an access token. Default: everybody whom hosts and origins let in.
    ///
    /// A server that is mounted into a program with authentication of its own needs none of this: a request that has a
    /// [`Principal`](crate::Principal) among its extensions is sent by that one, here as there.
    #[cfg(feature = "auth")]
    pub fn authenticate(mut self, protected: Protected) -> Self {
        self.protected = Some(protected);
        self
    }

    /// Whether sessions are sealed.
    #[cfg(feature = "sealing")]
    pub(crate) fn seals_sessions(&self) -> bool {
        matches!(self.sessions, HttpSessions::Sealed)
    }
}

impl fmt::Debug for HttpOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpOptions")
            .field("path", &self.path)
            .field("hosts", &self.hosts)
            .field("origins", &self.origins)
            .field("sse_2024", &self.sse_2024)
            .field("sessions", &self.sessions)
            .field("event_store", &self.events.is_some())
            .finish()
    }
}
