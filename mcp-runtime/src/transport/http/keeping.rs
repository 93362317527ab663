//! How sessions are kept: by a store, by their clients (sealed), or not at all.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::memory_sessions::MemorySessions;
use super::options::HttpSessions;
use super::record::SessionRecord;
#[cfg(feature = "sealing")]
use super::sealed_sessions::SealedSessions;
use super::session_store::{SessionStore, StoreFailed};
use crate::dispatch::{Dispatcher, seal};
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
            Self::Store(_) if !is_id(id) => Ok(None),
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

/// An id nobody can guess: 256 random bits.
pub(super) fn random_id() -> String {
    URL_SAFE_NO_PAD.encode(seal::random::<32>())
}

/// Whether it looks like an id of ours, so that no store is asked for anything else.
pub(super) fn is_id(id: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    // All bytes are looked at, which a processor does many at a time.
    id.len() == 43 && id.bytes().fold(true, |all, byte| all & is_plain(byte))
}
