//! Session storage: in a store, with the client (in sealed form), or nowhere.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::dispatch::Dispatcher;
use crate::http::stores::memory_sessions::MemorySessions;
use crate::http::stores::record::SessionRecord;
#[cfg(feature = "sealing")]
use crate::http::stores::sealed_sessions::SealedSessions;
use crate::http::stores::session_store::{MaybeReady, SessionStore, is_valid_id};

/// The storage for a server's sessions.
pub(in crate::http) enum SessionStorage {
    Store(Arc<dyn SessionStore>),
    #[cfg(feature = "sealing")]
    Sealed(SealedSessions),
    None,
}

impl SessionStorage {
    pub(in crate::http) fn new(
        chosen: Option<&HttpSessions>,
        dispatcher: &Arc<Dispatcher>,
    ) -> Self {
        match chosen {
            None | Some(HttpSessions::Memory) => {
                Self::Store(Arc::new(MemorySessions::new(dispatcher.limits())))
            }
            Some(HttpSessions::Store(store)) => Self::Store(Arc::clone(store)),
            #[cfg(feature = "sealing")]
            Some(HttpSessions::Sealed) => Self::Sealed(SealedSessions::new(dispatcher)),
            Some(HttpSessions::None) => Self::None,
        }
    }

    /// Returns `true` if changes made to a session after the handshake are stored.
    pub(in crate::http) fn is_lasting(&self) -> bool {
        matches!(self, Self::Store(_))
    }

    /// Returns the session with this id, if it exists.
    pub(in crate::http) fn load<'a>(
        &'a self,
        id: &'a str,
        keep: Duration,
    ) -> MaybeReady<'a, Option<Arc<SessionRecord>>> {
        match self {
            Self::Store(store) if is_valid_id(id) => store.load(id, keep),
            #[cfg(feature = "sealing")]
            Self::Sealed(sealed) => MaybeReady::ready(sealed.open(id).map(Arc::new)),
            Self::Store(_) | Self::None => MaybeReady::ready(None),
        }
    }
}

// The storage options for a server's legacy sessions.

/// Storage for legacy sessions. Requests that use protocol version 2026-07-28 never belong to a session.
///
/// | | served by any instance | survives a restart | elicitation, sampling, roots, log level, subscriptions, GET streams, DELETE |
/// |---|---|---|---|
/// | [`Memory`](Self::Memory) | no | no | yes |
/// | [`Store`](Self::Store) | yes, with a shared store | yes, with a persistent store | yes |
/// | [`Sealed`](Self::Sealed) | yes, with shared [`sealing_keys`](crate::Server::sealing_keys) | yes, with the same keys | no |
/// | [`None`](Self::None) | yes | yes | no |
///
/// A client that uses protocol version 2024-11-05 and keeps a stream open
/// ([`HttpOptions::legacy_sse`](crate::http::HttpOptions::legacy_sse)) has a session for as long as its connection
/// lasts, regardless of this setting.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum HttpSessions {
    /// Sessions are kept in the memory of the process.
    #[default]
    Memory,
    /// Sessions are kept in a store.
    Store(Arc<dyn SessionStore>),
    /// Sessions are not stored: a session's id is the sealed result of its handshake, so any instance that has the key
    /// can serve the session.
    ///
    /// The server keeps no state after the handshake, so it neither offers nor serves features that require such state:
    /// log messages and log levels, subscriptions, notifications of list changes, GET streams (405), DELETE (405), and
    /// resumable streams. The server cannot send elicitation, sampling or roots requests to the client. Progress
    /// notifications are sent on the call's stream. `notifications/cancelled` works only on the instance where the call
    /// runs.
    ///
    /// A session lasts for [`limits.sessions.sealed_timeout`](crate::Limits). An id is at most
    /// [`limits.sessions.max_sealed_bytes`](crate::Limits) characters long; a client whose handshake does not fit
    /// receives error -32602.
    #[cfg(feature = "sealing")]
    Sealed,
    /// Sessions do not exist: the server answers a handshake and then forgets it. The `MCP-Protocol-Version` header
    /// specifies the protocol version of a request; the default is 2025-03-26.
    ///
    /// The server knows nothing about the client, and all limitations of [`Sealed`](Self::Sealed) apply. In addition,
    /// calls cannot be cancelled.
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
