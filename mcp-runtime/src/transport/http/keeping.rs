//! Storage of sessions: in a store, with their clients (sealed), or not at all.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::time::Duration;

use super::memory_sessions::MemorySessions;
use super::options::HttpSessions;
use super::record::SessionRecord;
#[cfg(feature = "sealing")]
use super::sealed_sessions::SealedSessions;
use super::session_store::{MaybeReady, SessionStore};
use crate::dispatch::Dispatcher;
use crate::fnv::Fnv;

/// Storage of sessions.
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

    /// Returns `true` if anything after the handshake is remembered.
    pub(super) fn is_lasting(&self) -> bool {
        matches!(self, Self::Store(_))
    }

    /// Returns the session with this id, if there is one.
    pub(super) fn load<'a>(
        &'a self,
        id: &'a str,
        keep: Duration,
    ) -> MaybeReady<'a, Option<Arc<SessionRecord>>> {
        match self {
            Self::Store(store) if is_id(id) => store.load(id, keep),
            #[cfg(feature = "sealing")]
            Self::Sealed(sealed) => MaybeReady::ready(sealed.open(id).map(Arc::new)),
            Self::Store(_) | Self::None => MaybeReady::ready(None),
        }
    }
}

/// Generates an unpredictable id: 256 random bits.
pub(super) fn random_id() -> String {
    crate::random::random_id::<32>()
}

/// A map by ids that this server generated.
pub(super) type ById<K, V> = HashMap<K, V, BuildHasherDefault<IdSuffixHasher>>;

/// Hashes the end of an id, which is as random as the whole.
#[derive(Default)]
pub(super) struct IdSuffixHasher(Fnv);

impl Hasher for IdSuffixHasher {
    fn write(&mut self, id: &[u8]) {
        self.0.write(id.last_chunk::<12>().map_or(id, |end| end));
    }

    fn finish(&self) -> u64 {
        self.0.finish()
    }
}

/// Returns `true` if this has the form of a generated id, so that stores are not asked for anything else.
pub(super) fn is_id(id: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    // All bytes are checked, without an early exit: a processor checks many at a time.
    id.len() == 43 && id.bytes().fold(true, |all, byte| all & is_plain(byte))
}
