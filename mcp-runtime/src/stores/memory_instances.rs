//! A relay between servers in one process.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use crate::context::StoreFuture;
use crate::lock::lock;
use crate::stores::{InstanceRelay, RelayedTexts};

/// Maximum number of messages in an inbox.
const MAX_TEXTS: usize = 1_000;

/// An [`InstanceRelay`] between several servers in one process, for tests in which each server represents an instance.
#[derive(Debug)]
pub struct MemoryInstanceRelay {
    inboxes: Mutex<HashMap<String, Inbox>>,
    sent: watch::Sender<()>,
}

#[derive(Debug)]
struct Inbox {
    /// Time until which the instance is alive.
    until: Instant,
    /// Distinguishes this inbox from an earlier one of the same instance.
    id: String,
    /// Number of messages that have been dropped.
    dropped: usize,
    texts: Vec<String>,
}

impl MemoryInstanceRelay {
    /// Creates a relay without instances.
    #[must_use]
    pub fn new() -> Self {
        Self {
            inboxes: Mutex::default(),
            sent: watch::Sender::new(()),
        }
    }

    fn read(&self, instance: &str, lease: Duration, after: Option<&str>) -> RelayedTexts {
        let mut inboxes = lock(&self.inboxes);
        let now = Instant::now();
        inboxes.retain(|_, inbox| inbox.until > now);
        let inbox = inboxes.entry(instance.to_owned());
        let inbox = inbox.or_insert_with(|| Inbox {
            until: now,
            id: crate::random::random_id::<12>(),
            dropped: 0,
            texts: Vec::new(),
        });
        inbox.until = now.checked_add(lease).unwrap_or(now);
        let end = inbox.dropped.saturating_add(inbox.texts.len());
        let position = format!("{} {end}", inbox.id);
        let Some(after) = after else {
            inbox.dropped = end;
            inbox.texts.clear();
            return RelayedTexts::new(Some(Vec::new()), position);
        };
        let seen = after.split_once(' ').filter(|(id, _)| **id == *inbox.id);
        let seen = seen.and_then(|(_, seen)| seen.parse::<usize>().ok());
        let received = seen.and_then(|seen| seen.checked_sub(inbox.dropped));
        let Some(received) = received.filter(|received| *received <= inbox.texts.len()) else {
            return RelayedTexts::new(None, position);
        };
        inbox.texts.drain(..received);
        inbox.dropped = inbox.dropped.saturating_add(received);
        RelayedTexts::new(Some(inbox.texts.clone()), position)
    }
}

impl Default for MemoryInstanceRelay {
    fn default() -> Self {
        Self::new()
    }
}

impl InstanceRelay for MemoryInstanceRelay {
    fn send<'a>(&'a self, to: &'a str, text: &'a str) -> StoreFuture<'a, usize> {
        Box::pin(async move {
            let now = Instant::now();
            let mut inboxes = lock(&self.inboxes);
            let named = inboxes.iter_mut().filter(|(name, _)| name.starts_with(to));
            let alive: Vec<_> = named
                .map(|(_, inbox)| inbox)
                .filter(|inbox| inbox.until > now)
                .collect();
            if alive.iter().any(|inbox| inbox.texts.len() >= MAX_TEXTS) {
                return Err("an instance has too many messages".into());
            }
            let reached = alive.len();
            for inbox in alive {
                inbox.texts.push(text.to_owned());
            }
            drop(inboxes);
            self.sent.send_replace(());
            Ok(reached)
        })
    }

    fn receive<'a>(
        &'a self,
        instance: &'a str,
        lease: Duration,
        after: Option<&'a str>,
    ) -> StoreFuture<'a, RelayedTexts> {
        Box::pin(async move {
            let mut sent = self.sent.subscribe();
            let waited = timeout(lease / 3, async {
                loop {
                    let received = self.read(instance, lease, after);
                    if received.has_news() || after.is_none() {
                        return received;
                    }
                    // The sender lives as long as this relay.
                    let _ = sent.changed().await;
                }
            });
            match waited.await {
                Ok(received) => Ok(received),
                Err(_) => Ok(self.read(instance, lease, after)),
            }
        })
    }

    fn instances(&self) -> StoreFuture<'_, Vec<String>> {
        Box::pin(async move {
            let now = Instant::now();
            let inboxes = lock(&self.inboxes);
            let alive = inboxes.iter().filter(|(_, inbox)| inbox.until > now);
            Ok(alive.map(|(name, _)| name.clone()).collect())
        })
    }
}
