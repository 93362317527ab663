//! The inboxes of the server's instances. A message on the connection announces new entries in an inbox.

use std::pin::pin;
use std::time::Duration;

use mcp_core::context::StoreFuture;
use mcp_stores::{InstanceRelay, RelayedTexts};
use tokio::time::timeout;

use crate::error::RedisError;
use crate::fields::milliseconds;
use crate::link::OnLostConnection::Repeat;
use crate::tasks::LOOK_AGAIN;
use crate::{Redis, once, relay, scripts};

impl InstanceRelay for Redis {
    fn send<'a>(&'a self, to: &'a str, text: &'a str) -> StoreFuture<'a, usize> {
        Box::pin(async move {
            let mut send = self.script(&scripts::SEND_MESSAGE);
            send.arg(to).arg(text);
            // Receiving a message twice has no further effect.
            let reached: i64 = self.run(&send, Repeat).await?;
            let full = |_| RedisError::text("an instance has too many messages");
            Ok(usize::try_from(reached).map_err(full)?)
        })
    }

    fn receive<'a>(
        &'a self,
        instance: &'a str,
        lease: Duration,
        after: Option<&'a str>,
    ) -> StoreFuture<'a, RelayedTexts> {
        Box::pin(async move {
            let inbox = format!("inbox:{instance}");
            let mut sent = pin!(self.0.changes.of(inbox.as_bytes()).notified());
            // From here on, no entry is missed while the connection lasts; a new connection wakes all callers.
            sent.as_mut().enable();
            let received = self.read_inbox(instance, lease, after).await?;
            if received.has_news() || after.is_none() {
                return Ok(received);
            }
            let _ = timeout(LOOK_AGAIN.min(lease / 3), sent).await;
            Ok(self.read_inbox(instance, lease, after).await?)
        })
    }

    fn instances(&self) -> StoreFuture<'_, Vec<String>> {
        Box::pin(async move {
            let list = self.script(&scripts::LIST_INSTANCES);
            Ok(self.run(&list, Repeat).await?)
        })
    }
}

impl Redis {
    async fn read_inbox(
        &self,
        instance: &str,
        lease: Duration,
        after: Option<&str>,
    ) -> Result<RelayedTexts, RedisError> {
        let mut receive = self.script(&scripts::RECEIVE_MESSAGES);
        receive.arg(instance).arg(milliseconds(lease));
        receive.arg(once::claim()).arg(after.unwrap_or_default());
        relay::read_texts(self.run(&receive, Repeat).await?)
    }
}
