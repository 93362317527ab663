//! The trait for relays that carry messages to the server instance that runs a call.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use mcp_core::context::StoreFuture;
use mcp_core::sync::lock;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

/// Carries messages between the instances of a server, so that a legacy client's message reaches the instance that runs
/// the client's call, whichever instance received the message: an answer to one of the server's questions, a
/// cancellation, a change of log level, a subscription, or the end of a session.
///
/// **Open**: implement it on top of a database that all instances share, in addition to a
/// [`SessionStore`](crate::SessionStore). Each instance has an inbox of short messages that only the server
/// interprets. An instance counts as alive while it is receiving and for some time afterward, so that the other
/// instances learn when it is gone. The server does not cancel or repeat anything in that case, but informs the clients
/// that are waiting for the instance.
///
/// Messages contain data from clients, so they are as confidential as sessions.
pub trait InstanceRelay: Send + Sync + 'static {
    /// Sends a message to the live instances whose names begin with `to`, and wakes those that are waiting. Returns the
    /// number of instances to which the message was sent.
    ///
    /// Fails if an inbox has no room for the message, so that no message is lost silently. The server may send a
    /// message again after an error, so an instance may receive it twice.
    fn send<'a>(&'a self, to: &'a str, text: &'a str) -> StoreFuture<'a, usize>;

    /// Keeps an instance alive for the duration `lease` from now on and returns the messages after a position in its
    /// inbox. If there are none, waits for new messages, but for no longer than a third of `lease`. Messages up to the
    /// position have been received and may be dropped.
    ///
    /// Without a position, empties the inbox and returns immediately. If the instance was no longer alive, or if
    /// messages may have been lost for another reason, `texts` in the result is `None`.
    ///
    /// The future may be dropped while it is waiting.
    fn receive<'a>(
        &'a self,
        instance: &'a str,
        lease: Duration,
        after: Option<&'a str>,
    ) -> StoreFuture<'a, RelayedTexts>;

    /// Returns the names of all instances that are alive.
    fn instances(&self) -> StoreFuture<'_, Vec<String>>;
}

// --- The trait for relays that carry change notifications between the instances of a server.

/// Carries change notifications between the instances of a server, so that a change announced by one instance reaches
/// the clients of all instances.
///
/// **Open**: implement it on top of a database that all instances share. A relay is a log of short entries that only
/// the server interprets. A relay may drop the oldest entries, and it may be emptied: an instance that may have missed
/// some entries notifies its clients that everything has changed. Changes are never lost, but notifications may be
/// unnecessary.
///
/// The relay carries changes announced with `ServerHandle::notify`, except for extension
/// notifications and for changes to a resource for chosen callers, because a function
/// cannot be sent. A change to a list for chosen callers is announced to all callers of other instances.
pub trait NotificationRelay: Send + Sync + 'static {
    /// Appends entries to the log, in order, and wakes all receivers that are waiting for them. After an error, the
    /// server appends the entries again.
    fn publish<'a>(&'a self, texts: &'a [String]) -> StoreFuture<'a, ()>;

    /// Returns the entries after a position, including those from this instance. If there are none, waits a few seconds
    /// for new entries and then returns even if there are still none. Without a position, immediately returns the end
    /// of the log.
    ///
    /// The future may be dropped while it is waiting.
    fn receive<'a>(&'a self, after: Option<&'a str>) -> StoreFuture<'a, RelayedTexts>;
}

/// The entries that a [`NotificationRelay`] or [`InstanceRelay`](crate::InstanceRelay) has after a position.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RelayedTexts {
    /// The entries, in order, or `None` if some may have been dropped because the position is older than the log or
    /// from another log.
    pub texts: Option<Vec<String>>,
    /// The position after the last entry, in a form that only the relay interprets.
    pub position: String,
}

impl RelayedTexts {
    /// Creates the result of receiving.
    #[must_use]
    pub fn new(texts: Option<Vec<String>>, position: impl Into<String>) -> Self {
        Self {
            texts,
            position: position.into(),
        }
    }

    /// Returns `true` if there are entries, or if some may have been lost. Otherwise, a relay waits.
    #[must_use]
    pub fn has_news(&self) -> bool {
        self.texts.as_ref().is_none_or(|texts| !texts.is_empty())
    }
}

// --- A relay between servers in one process.

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
            id: mcp_core::random::random_id::<12>(),
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
