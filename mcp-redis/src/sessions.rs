//! Stores legacy sessions. Redis uses the number of changes to determine which change comes first.

use std::sync::Arc;
use std::time::Duration;

use mcp_runtime::http::{MaybeReady, SessionRecord, SessionStore};

use crate::error::RedisError;
use crate::fields::milliseconds;
use crate::link::OnLostConnection::Repeat;
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
            let json = mcp_runtime::serde_json::to_string(&*record)?;
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
                let reply: Vec<String> = self.0.link.script(&insert, Repeat).await?;
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
        MaybeReady::later(async move {
            let mut load = self.script(&scripts::LOAD_SESSION);
            load.arg(id).arg(milliseconds(keep));
            let json: Option<String> = self.0.link.script(&load, Repeat).await?;
            let Some(json) = json else { return Ok(None) };
            let record = mcp_runtime::serde_json::from_str::<SessionRecord>(&json);
            let unreadable = |_| {
                RedisError::text(
                    "a stored session cannot be read; another build may be using the same name",
                )
            };
            Ok(Some(Arc::new(record.map_err(unreadable)?)))
        })
    }

    fn save<'a>(&'a self, id: &'a str, record: Arc<SessionRecord>) -> MaybeReady<'a, bool> {
        MaybeReady::later(async move {
            let json = mcp_runtime::serde_json::to_string(&*record)?;
            let mut save = self.script(&scripts::SAVE_SESSION);
            save.arg(id).arg(record.changes()).arg(json);
            // If the repeated save is refused because the first attempt succeeded, the runtime applies its change to
            // the stored record.
            Ok(self.0.link.script(&save, Repeat).await?)
        })
    }

    fn remove<'a>(&'a self, id: &'a str) -> MaybeReady<'a, bool> {
        MaybeReady::later(async move {
            let mut remove = self.script(&scripts::REMOVE_SESSION);
            Ok(self.0.link.script(remove.arg(id), Repeat).await?)
        })
    }
}
