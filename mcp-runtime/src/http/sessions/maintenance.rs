//! Maintains live parts: drops those that are unused and keeps the records of the others from expiring.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::task::JoinHandle;

use crate::http::sessions::http_session::HttpSession;
use crate::http::sessions::live_sessions::{LiveSessions, SessionRegistry};
use crate::http::sessions::messages::receive_messages;
use crate::http::stores::session_storage::SessionStorage;
use crate::http::stores::session_store::StoreFailed;
use crate::spawn::spawn;

/// Interval between checks of live parts.
const TEND: Duration = Duration::from_secs(5);
/// Interval between checks of records while work is in progress on this instance.
const RENEW: Duration = Duration::from_secs(15);
/// Duration for which an unused live part is kept. This is longer than a session's token buckets take to refill.
const LINGER: Duration = Duration::from_secs(5);
/// Maximum number of records that are checked concurrently.
const TOGETHER: usize = 16;

impl SessionRegistry {
    /// Adds a live part and maintains it from then on.
    pub(super) fn insert_live(
        self: &Arc<Self>,
        live: &mut LiveSessions,
        session: &Arc<HttpSession>,
    ) {
        let id = Arc::clone(&session.id);
        live.sessions.insert(id, Arc::clone(session));
        if live.tending.as_ref().is_none_or(JoinHandle::is_finished) {
            live.tending = Some(spawn(maintain_until_empty(Arc::downgrade(self))));
        }
        if let Some(others) = &self.others
            && live.receiving.as_ref().is_none_or(JoinHandle::is_finished)
        {
            let receiving = receive_messages(Arc::downgrade(self), Arc::clone(others));
            live.receiving = Some(spawn(receiving));
        }
    }

    /// Drops unused live parts and ends live parts whose sessions have ended. Returns `false` if no live parts are
    /// left.
    async fn maintain_once(&self) -> bool {
        let limits = self.limits();
        let mut ended = Vec::new();
        let mut due = Vec::new();
        let is_over = {
            let mut live = self.lock_live();
            let after = RENEW.min(limits.sessions.idle_timeout / 3);
            live.sessions.retain(|_, session| {
                if session.is_expired(limits) || session.is_unused(LINGER, limits) {
                    ended.push(Arc::clone(session));
                    return false;
                }
                let keep = session.renewed_lifetime(after, limits);
                due.extend(keep.map(|keep| (Arc::clone(session), keep)));
                true
            });
            // Releases memory that is no longer needed after a peak in the number of sessions.
            let max = live.sessions.len().saturating_mul(2);
            live.sessions.shrink_to(max);
            let is_over = live.sessions.is_empty();
            if is_over {
                live.tending = None;
            }
            is_over
        };
        for session in ended {
            session.close();
        }
        self.read_records(due).await;
        !is_over
    }

    /// Reads the records of sessions that were, or may have been, changed on another instance.
    pub(super) async fn read_again(&self, ids: &[String]) {
        let live = ids.iter().filter_map(|id| self.find_live(id));
        let live = live.map(|session| (session, Duration::ZERO));
        self.read_records(live.collect()).await;
    }

    /// Reads the sessions' records and keeps each record for the given duration from now on.
    async fn read_records(&self, due: Vec<(Arc<HttpSession>, Duration)>) {
        let SessionStorage::Store(store) = &self.storage else {
            return;
        };
        let limit = self.limits().sessions.store_timeout;
        let reading = futures_util::stream::iter(due);
        let has_failed = &AtomicBool::new(false);
        let read = |(session, keep): (Arc<HttpSession>, Duration)| async move {
            if has_failed.load(Ordering::Relaxed) {
                return;
            }
            match store.load(&session.id, keep).with_timeout(limit).await {
                Ok(Some(record)) => {
                    session.apply_record(&record);
                    if let Some(record) = session.with_seen_changes(&record) {
                        // If this fails, a client that moves is notified of more changes than it has missed.
                        let saved = store.save(&session.id, Arc::new(record));
                        let _ = saved.with_timeout(limit).await;
                    }
                }
                Ok(None) => self.end_session(&session.id),
                // The error has been logged. Work in progress continues, and the remaining records are checked next
                // time.
                Err(StoreFailed) => has_failed.store(true, Ordering::Relaxed),
            }
        };
        reading.for_each_concurrent(TOGETHER, read).await;
    }
}

/// Maintains live parts until none are left.
async fn maintain_until_empty(sessions: Weak<SessionRegistry>) {
    loop {
        let pause = match sessions.upgrade() {
            Some(sessions) => TEND.min(sessions.limits().sessions.idle_timeout / 3),
            None => return,
        };
        tokio::time::sleep(pause.max(Duration::from_millis(10))).await;
        let Some(sessions) = sessions.upgrade() else {
            return;
        };
        if !sessions.maintain_once().await {
            return;
        }
    }
}
