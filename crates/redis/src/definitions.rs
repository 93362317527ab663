//! Records of definitions that the instances share. A message on the connection announces changes.

use std::pin::pin;

use mcp_core::context::StoreFuture;
use mcp_stores::{DefinitionStore, StoredDefinitions};
use tokio::time::timeout;

use crate::error::RedisError;
use crate::link::OnLostConnection::{Fail, Repeat};
use crate::tasks::LOOK_AGAIN;
use crate::{Redis, once, scripts};

impl DefinitionStore for Redis {
    fn put<'a>(&'a self, set: &'a str, name: &'a str, record: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let mut put = self.script(&scripts::PUT_DEFINITION);
            put.arg(set).arg(once::claim()).arg(name).arg(record);
            // Storing a record twice has no further effect.
            let has_room: bool = self.run(&put, Repeat).await?;
            let full = || RedisError::text("there are 1,000 definitions, which is the maximum");
            Ok(has_room.then_some(()).ok_or_else(full)?)
        })
    }

    fn remove<'a>(&'a self, set: &'a str, name: &'a str) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            let mut remove = self.script(&scripts::REMOVE_DEFINITION);
            remove.arg(set).arg(once::claim()).arg(name);
            Ok(self.run(&remove, Fail).await?)
        })
    }

    fn receive<'a>(
        &'a self,
        set: &'a str,
        after: Option<&'a str>,
    ) -> StoreFuture<'a, Option<StoredDefinitions>> {
        Box::pin(async move {
            let channel = format!("definitions:{set}");
            let mut changed = pin!(self.0.changes.of(channel.as_bytes()).notified());
            // From here on, changes are not missed while the connection lasts; a new connection wakes all callers.
            changed.as_mut().enable();
            let read = self.read_definitions(set, after).await?;
            if read.is_some() {
                return Ok(read);
            }
            let _ = timeout(LOOK_AGAIN, changed).await;
            Ok(self.read_definitions(set, after).await?)
        })
    }
}

impl Redis {
    async fn read_definitions(
        &self,
        set: &str,
        after: Option<&str>,
    ) -> Result<Option<StoredDefinitions>, RedisError> {
        let mut receive = self.script(&scripts::RECEIVE_DEFINITIONS);
        receive
            .arg(set)
            .arg(once::claim())
            .arg(after.unwrap_or_default());
        let reply: Vec<String> = self.run(&receive, Repeat).await?;
        let mut reply = reply.into_iter();
        match (reply.next(), reply.next().as_deref()) {
            (Some(version), Some("records")) => {
                let mut records = Vec::new();
                while let Some((name, record)) = reply.next().zip(reply.next()) {
                    records.push((name, record));
                }
                Ok(Some(StoredDefinitions::new(records, version)))
            }
            (Some(_), Some("current")) => Ok(None),
            _ => Err(RedisError::unexpected()),
        }
    }
}
