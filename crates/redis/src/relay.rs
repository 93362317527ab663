//! The log of change notifications. A message on the connection announces that the log contains new notifications.

use std::pin::pin;

use mcp_core::context::StoreFuture;
use mcp_stores::{NotificationRelay, RelayedTexts};
use tokio::time::timeout;

use crate::error::RedisError;
use crate::link::OnLostConnection::Repeat;
use crate::tasks::LOOK_AGAIN;
use crate::{Redis, once, scripts};

/// Sent on the channel for changes in place of a task id.
const CHANGED: &[u8] = b"notifications";

impl NotificationRelay for Redis {
    fn publish<'a>(&'a self, texts: &'a [String]) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let mut publish = self.script(&scripts::PUBLISH_CHANGES);
            publish.arg(once::claim()).arg(texts);
            // Receiving a notification twice has no further effect.
            let _: u64 = self.run(&publish, Repeat).await?;
            Ok(())
        })
    }

    fn receive<'a>(&'a self, after: Option<&'a str>) -> StoreFuture<'a, RelayedTexts> {
        Box::pin(async move {
            let mut changed = pin!(self.0.changes.of(CHANGED).notified());
            // From here on, changes are not missed while the connection lasts; a new connection wakes all callers.
            changed.as_mut().enable();
            let received = self.read_log(after).await?;
            if received.has_news() || after.is_none() {
                return Ok(received);
            }
            let _ = timeout(LOOK_AGAIN, changed).await;
            Ok(self.read_log(after).await?)
        })
    }
}

impl Redis {
    async fn read_log(&self, after: Option<&str>) -> Result<RelayedTexts, RedisError> {
        let mut receive = self.script(&scripts::RECEIVE_CHANGES);
        receive.arg(once::claim()).arg(after.unwrap_or_default());
        read_texts(self.run(&receive, Repeat).await?)
    }
}

/// Reads a script's reply: a position, `texts` or `missed`, and the strings.
pub(crate) fn read_texts(reply: Vec<String>) -> Result<RelayedTexts, RedisError> {
    let mut reply = reply.into_iter();
    match (reply.next(), reply.next().as_deref()) {
        (Some(position), Some("texts")) => Ok(RelayedTexts::new(Some(reply.collect()), position)),
        (Some(position), Some("missed")) => Ok(RelayedTexts::new(None, position)),
        _ => Err(RedisError::unexpected()),
    }
}
