//! Session storage: in a store, with the client (in sealed form), or nowhere.

use std::sync::Arc;
use std::time::Duration;

use crate::dispatch::Dispatcher;
use crate::http::stores::http_sessions::HttpSessions;
use crate::http::stores::maybe_ready::MaybeReady;
use crate::http::stores::memory_sessions::MemorySessions;
use crate::http::stores::record::SessionRecord;
#[cfg(feature = "sealing")]
use crate::http::stores::sealed_sessions::SealedSessions;
use crate::http::stores::session_id::is_valid_id;
use crate::http::stores::session_store::SessionStore;

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
