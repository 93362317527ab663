//! Stores legacy sessions. Redis uses the number of changes to determine which change comes first.

use std::sync::Arc;
use std::time::Duration;

use mcp_stores::{MaybeReady, SessionRecord, SessionStore};
use tokio::sync::oneshot;

use crate::error::RedisError;
use crate::fields::milliseconds;
use crate::link::OnLostConnection::Repeat;
use crate::session_loads::{LoadedSession, WaitingLoad};
use crate::{Redis, scripts};

impl SessionStore for Redis {
    fn insert<'a>(
        &'a self,
        id: &'a str,
        record: Arc<SessionRecord>,
        keep: Duration,
        in_use: &'a (dyn Fn(&str) -> bool + Sync),
    ) -> MaybeReady<'a, bool> {
        MaybeReady::later(async move {
            let json = serde_json::to_string(&*record)?;
            // A prefix distinguishes an empty owner from no owner.
            let owner = record
                .owner()
                .map_or(String::new(), |owner| format!("1{owner}"));
            let limits = &self.0.options.limits.sessions;
            let mut ended = String::new();
            loop {
                let mut insert = self.script(&scripts::INSERT_SESSION);
                insert.arg(id).arg(&owner).arg(record.changes()).arg(&json);
                insert.arg(milliseconds(keep));
                insert
                    .arg(limits.max_sessions)
                    .arg(limits.max_per_principal);
                insert.arg(&ended);
                let reply: Vec<String> = self.run(&insert, Repeat).await?;
                let mut reply = reply.into_iter();
                match reply.next().as_deref() {
                    Some("done") => return Ok(true),
                    Some("full") => match reply.find(|idle| !in_use(idle)) {
                        Some(idle) => ended = idle,
                        None => return Ok(false),
                    },
                    _ => return Err(RedisError::unexpected().into()),
                }
            }
        })
    }

    fn load<'a>(
        &'a self,
        id: &'a str,
        keep: Duration,
    ) -> MaybeReady<'a, Option<Arc<SessionRecord>>> {
        // The connection limits the time of each operation.
        MaybeReady::bounded(async move {
            let known = self.0.records.find(id);
            let version = known.as_ref().map(|known| Arc::clone(&known.version));
            let loaded = match self.load_session(id, keep, version).await? {
                LoadedSession::Unknown => return Ok(None),
                LoadedSession::Unchanged => return Ok(known.map(|known| known.record)),
                LoadedSession::Changed(loaded) => loaded,
            };
            let lines = loaded.split_once('\n');
            let (version, text) = lines.ok_or_else(RedisError::unexpected)?;
            let record = self.0.records.parse(id, version, text);
            let unreadable = |_| {
                RedisError::text(
                    "a stored session cannot be read; another build may be using the same name",
                )
            };
            Ok(Some(record.map_err(unreadable)?))
        })
    }

    fn save<'a>(&'a self, id: &'a str, record: Arc<SessionRecord>) -> MaybeReady<'a, bool> {
        MaybeReady::later(async move {
            let json = serde_json::to_string(&*record)?;
            let mut save = self.script(&scripts::SAVE_SESSION);
            save.arg(id).arg(record.changes()).arg(json);
            // If the repeated save is refused because the first attempt succeeded, the runtime applies its change to
            // the stored record.
            Ok(self.run(&save, Repeat).await?)
        })
    }

    fn remove<'a>(&'a self, id: &'a str) -> MaybeReady<'a, bool> {
        MaybeReady::later(async move {
            let mut remove = self.script(&scripts::REMOVE_SESSION);
            Ok(self.run(remove.arg(id), Repeat).await?)
        })
    }
}

impl Redis {
    /// Loads the record of a session as text, unless it has the known version, and keeps the session for this time.
    async fn load_session(
        &self,
        id: &str,
        keep: Duration,
        known: Option<Arc<str>>,
    ) -> Result<LoadedSession, RedisError> {
        let (reply, loaded) = oneshot::channel();
        let starts = self.0.loads.push(WaitingLoad {
            id: id.into(),
            keep: milliseconds(keep),
            known,
            reply,
        });
        if starts {
            // Other requests that have already arrived begin their loads before this task runs.
            let store = self.clone();
            tokio::spawn(async move { store.send_loads().await });
        }
        let ending = |_| RedisError::text("the process is ending");
        loaded.await.map_err(ending)?
    }

    /// Sends loads that are waiting.
    async fn send_loads(&self) {
        let loads = self.0.loads.take();
        if loads.is_empty() {
            return;
        }
        let mut operation = self.script(&scripts::LOAD_SESSIONS);
        for load in &loads {
            operation.arg(&*load.id).arg(load.keep);
            operation.arg(load.known.as_deref().unwrap_or_default());
        }
        let replies: Result<Vec<String>, _> = self.run(&operation, Repeat).await;
        // Requests that have ended in the meantime have dropped their ends of the channels.
        match replies {
            Ok(replies) => {
                let mut replies = replies.into_iter();
                let letters = replies.next().unwrap_or_default();
                let mut letters = letters.chars();
                for load in loads {
                    let loaded = match letters.next() {
                        Some('-') => Ok(LoadedSession::Unknown),
                        Some('=') => Ok(LoadedSession::Unchanged),
                        Some('+') => replies
                            .next()
                            .map(LoadedSession::Changed)
                            .ok_or_else(RedisError::unexpected),
                        _ => Err(RedisError::unexpected()),
                    };
                    let _ = load.reply.send(loaded);
                }
            }
            Err(error) => {
                for load in loads {
                    let _ = load.reply.send(Err(error.clone()));
                }
            }
        }
    }
}
