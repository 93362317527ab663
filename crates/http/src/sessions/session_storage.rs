//! Session storage: in a store, with the client (in sealed form), or nowhere.

use std::sync::Arc;
use std::time::Duration;

use mcp_core::dispatch::Dispatcher;
use mcp_stores::{MaybeReady, MemorySessions, SessionRecord, SessionStore, is_valid_id};

use crate::options::HttpSessions;
use crate::sessions::sealed_sessions::SealedSessions;

/// The storage for a server's sessions.
pub(crate) enum SessionStorage {
    Store(Arc<dyn SessionStore>),
    Sealed(SealedSessions),
    None,
}

impl SessionStorage {
    pub(crate) fn new(chosen: Option<&HttpSessions>, dispatcher: &Arc<Dispatcher>) -> Self {
        match chosen {
            None | Some(HttpSessions::Memory) => {
                Self::Store(Arc::new(MemorySessions::new(dispatcher.limits())))
            }
            Some(HttpSessions::Store(store)) => Self::Store(Arc::clone(store)),
            Some(HttpSessions::Sealed) => Self::Sealed(SealedSessions::new(dispatcher)),
            Some(HttpSessions::None) => Self::None,
        }
    }

    /// Returns `true` if changes made to a session after the handshake are stored.
    pub(crate) fn is_lasting(&self) -> bool {
        matches!(self, Self::Store(_))
    }

    /// Returns the session with this id, if it exists.
    pub(crate) fn load<'a>(
        &'a self,
        id: &'a str,
        keep: Duration,
    ) -> MaybeReady<'a, Option<Arc<SessionRecord>>> {
        match self {
            Self::Store(store) if is_valid_id(id) => store.load(id, keep),
            Self::Sealed(sealed) => MaybeReady::ready(sealed.open(id).map(Arc::new)),
            Self::Store(_) | Self::None => MaybeReady::ready(None),
        }
    }
}
