//! All sessions of a server: found by their ids, bounded in number, ended when they are idle.
//!
//! Most clients never end a session. Whoever serves calls [`sweep`](Sessions::sweep) now and then.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::session::HttpSession;
use crate::limits::Limits;

/// How often idle sessions are looked for.
const SWEEP: Duration = Duration::from_secs(5);

type Map = HashMap<Box<str>, Arc<HttpSession>>;

/// All sessions of a server.
pub(super) struct Sessions {
    map: Mutex<Map>,
    swept: Mutex<Instant>,
}

impl Sessions {
    pub(super) fn new() -> Self {
        Self {
            map: Mutex::default(),
            swept: Mutex::new(Instant::now()),
        }
    }

    fn map(&self) -> MutexGuard<'_, Map> {
        self.map.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a session. When there are as many as there may be, the one that was idle longest ends for it; `false` if none
    /// is idle.
    pub(super) fn insert(&self, session: Arc<HttpSession>, limits: &Limits) -> bool {
        let evicted = {
            let mut map = self.map();
            let mut evicted = None;
            if map.len() >= limits.sessions.max(1) {
                let idle = map
                    .values()
                    .filter_map(|session| Some((session.idle_since()?, &session.id)));
                let Some(oldest) = idle.min_by_key(|(since, _)| *since) else {
                    return false;
                };
                let oldest = oldest.1.clone();
                evicted = map.remove(&oldest);
            }
            map.insert(session.id.clone(), session);
            evicted
        };
        if let Some(session) = evicted {
            session.close();
        }
        true
    }

    /// The session of this id, whose client is there again.
    pub(super) fn get(
        &self,
        id: &str,
        one_stream: bool,
        limits: &Limits,
    ) -> Option<Arc<HttpSession>> {
        let session = Arc::clone(self.map().get(id)?);
        if session.is_one_stream != one_stream {
            return None;
        }
        if session.is_expired(Instant::now(), limits) {
            self.remove(id);
            return None;
        }
        session.touch();
        Some(session)
    }

    /// Ends the session of this id.
    pub(super) fn remove(&self, id: &str) {
        let removed = self.map().remove(id);
        if let Some(session) = removed {
            session.close();
        }
    }

    /// Ends sessions that were idle for too long, if it was not just done.
    pub(super) fn sweep(&self, limits: &Limits) {
        let now = Instant::now();
        {
            let mut swept = self.swept.lock().unwrap_or_else(PoisonError::into_inner);
            if now.saturating_duration_since(*swept) < SWEEP {
                return;
            }
            *swept = now;
        }
        let mut expired = Vec::new();
        self.map().retain(|_, session| {
            let is_expired = session.is_expired(now, limits);
            if is_expired {
                expired.push(Arc::clone(session));
            }
            !is_expired
        });
        for session in expired {
            session.close();
        }
    }

    /// Ends all sessions.
    pub(super) fn close(&self) {
        let all = std::mem::take(&mut *self.map());
        for session in all.into_values() {
            session.close();
        }
    }
}
