//! How sessions are kept: by a store, by their clients (sealed), or not at all.

use std::sync::Arc;

use super::memory_sessions::MemorySessions;
use super::options::HttpSessions;
use super::record::SessionRecord;
#[cfg(feature = "sealing")]
use super::sealed_sessions::SealedSessions;
use super::session_store::{SessionStore, StoreFailed};
use crate::dispatch::Dispatcher;
use crate::limits::Limits;

/// How sessions are kept.
pub(super) enum Keeping {
    Store(Arc<dyn SessionStore>),
    #[cfg(feature = "sealing")]
    Sealed(SealedSessions),
    None,
}

impl Keeping {
    pub(super) fn new(chosen: &HttpSessions, dispatcher: &Arc<Dispatcher>) -> Self {
        match chosen {
            HttpSessions::Memory => Self::Store(Arc::new(MemorySessions::new(dispatcher.limits()))),
            HttpSessions::Store(store) => Self::Store(Arc::clone(store)),
            #[cfg(feature = "sealing")]
            HttpSessions::Sealed => Self::Sealed(SealedSessions::new(dispatcher)),
            HttpSessions::None => Self::None,
        }
    }

    /// Whether anything that comes after the handshake is remembered.
    pub(super) fn is_lasting(&self) -> bool {
        matches!(self, Self::Store(_))
    }

    /// The session of this id, if there is one.
    pub(super) async fn load(
        &self,
        id: &str,
        limits: &Limits,
    ) -> Result<Option<Arc<SessionRecord>>, StoreFailed> {
        match self {
            Self::Store(store) => {
                let loaded = store.load(id, limits.session_idle);
                loaded.within(limits.store_time).await
            }
            #[cfg(feature = "sealing")]
            Self::Sealed(sealed) => Ok(sealed.open(id).map(Arc::new)),
            Self::None => Ok(None),
        }
    }
}
