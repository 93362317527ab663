//! The choice of a server: how its legacy sessions are kept.

use std::fmt;
use std::sync::Arc;

use crate::http::stores::session_store::SessionStore;

/// Storage of legacy sessions. Requests of protocol version 2026-07-28 never have a session.
///
/// | | any instance serves | survives a restart | elicitation, sampling, roots, log level, subscriptions, GET streams, DELETE |
/// |---|---|---|---|
/// | [`Memory`](Self::Memory) | no | no | yes |
/// | [`Store`](Self::Store) | yes, with a shared store | yes, with a persistent store | yes |
/// | [`Sealed`](Self::Sealed) | yes, with shared [`sealing_keys`](crate::Server::sealing_keys) | yes, with the same keys | no |
/// | [`None`](Self::None) | yes | yes | no |
///
/// Clients of protocol version 2024-11-05 that keep a stream open ([`HttpOptions::legacy_sse`](crate::http::HttpOptions::legacy_sse)) have a session for as
/// long as that connection, regardless of this setting.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum HttpSessions {
    /// Kept in the memory of the process.
    #[default]
    Memory,
    /// Kept by a store.
    Store(Arc<dyn SessionStore>),
    /// Stored nowhere: the id of a session is the sealed result of its handshake, so that any instance with the key can
    /// serve it.
    ///
    /// Nothing can be remembered after the handshake, so features that need it are neither offered nor served: log
    /// messages and their level, subscriptions, notifications of changed lists, GET streams (405), DELETE (405),
    /// resumable streams. The server cannot send the client elicitation, sampling or roots requests. Progress is sent
    /// on the stream of its call. `notifications/cancelled` works at the instance where the call runs.
    ///
    /// A session lasts for [`limits.sessions.sealed_timeout`](crate::Limits). An id has at most
    /// [`limits.sessions.max_sealed_bytes`](crate::Limits) characters; a client whose handshake does not fit gets
    /// the error -32602.
    #[cfg(feature = "sealing")]
    Sealed,
    /// No sessions: a handshake is answered and forgotten. The header `MCP-Protocol-Version` specifies the protocol
    /// version of a request; the default is 2025-03-26.
    ///
    /// Nothing is known about the client, and all limitations of [`Sealed`](Self::Sealed) apply. In addition, calls
    /// cannot be cancelled.
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
