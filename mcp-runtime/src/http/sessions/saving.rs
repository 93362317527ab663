//! Saves changes to sessions, even if other instances change the sessions concurrently.

use std::sync::Arc;
use std::time::Duration;

use crate::http::response::refusal::HttpRefusal;
use crate::http::sessions::live_sessions::SessionRegistry;
use crate::http::sessions::other_instances::SessionEvent;
use crate::http::sessions::session_lookup::PendingSave;
use crate::http::stores::maybe_ready::StoreFailed;
use crate::http::stores::record::SessionRecord;
use crate::http::stores::session_storage::SessionStorage;
use crate::http::stores::session_store::SessionStore;

/// Maximum number of attempts to save a change to a session that is being changed concurrently.
const ATTEMPTS: usize = 8;

impl SessionRegistry {
    /// Saves a change, even if the session is changed concurrently.
    pub(in crate::http) async fn save(&self, save: PendingSave) -> Result<(), HttpRefusal> {
        let SessionStorage::Store(store) = &self.storage else {
            return Ok(());
        };
        let saved = self.save_in(&**store, &save).await;
        let session = self.find_live(&save.id);
        let refusal = match (saved, session) {
            (Ok(Some(record)), session) => {
                if let Some(session) = session {
                    session.apply_record(&record);
                }
                // No call runs before the client is ready.
                if !save.change.is_only_ready() {
                    self.announce(&save.id, SessionEvent::Changed).await;
                }
                return Ok(());
            }
            (Ok(None), _) => {
                self.end_session(&save.id);
                HttpRefusal::unknown_session()
            }
            (Err(StoreFailed), session) => {
                if let Some(session) = session {
                    session.mark_outdated();
                }
                StoreFailed.into()
            }
        };
        Err(refusal.with_id(save.request))
    }

    /// Saves a change and returns the new record, or `None` if the session no longer exists.
    async fn save_in(
        &self,
        store: &dyn SessionStore,
        save: &PendingSave,
    ) -> Result<Option<Arc<SessionRecord>>, StoreFailed> {
        let limits = self.limits();
        let mut record = Arc::clone(&save.record);
        for _ in 0..ATTEMPTS {
            let changed = Arc::new(record.with_update(&save.change, &limits.streams));
            let saved = store.save(&save.id, Arc::clone(&changed));
            if saved.with_timeout(limits.sessions.store_timeout).await? {
                return Ok(Some(changed));
            }
            let loaded = store.load(&save.id, Duration::ZERO);
            match loaded.with_timeout(limits.sessions.store_timeout).await? {
                Some(loaded) => record = loaded,
                None => return Ok(None),
            }
        }
        tracing::warn!("could not save a change to a session: too many concurrent changes");
        Err(StoreFailed)
    }
}
