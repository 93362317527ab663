//! Change notifications sent to and received from other instances of the server.
//!
//! This instance's changes are merged while they are waiting, so memory use is bounded and no other work waits for the
//! relay.

#[cfg(feature = "http")]
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::context::{ChangeNotification, ServerHandle};
#[cfg(feature = "http")]
use crate::dispatch::notifications::Mailbox;
use crate::dispatch::server_shared::ServerShared;
use crate::handler::notified_callers::NotifiedCallers;
use crate::lock::lock;
use crate::observe::NOTIFICATION_GAPS;
use crate::protocol::encode::ListKind;
use crate::random::random_id;
use crate::stores::NotificationRelay;

/// Maximum number of different changes that can wait. If there are more, the other instances are notified that
/// everything has changed.
const MAX_WAITING: usize = 1_024;
/// Time before the first retry when a relay fails. The time doubles with each failure.
const FIRST_RETRY: Duration = Duration::from_millis(50);
/// Number of attempts to read what a session may have missed, before everything counts as changed.
#[cfg(feature = "http")]
const CATCH_UP_ATTEMPTS: u32 = 5;
/// Maximum time before a failing relay is tried again.
const LONGEST_RETRY: Duration = Duration::from_secs(2);

/// A change in the form that is sent through the relay.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct RelayedChange {
    /// The instance that announced the change.
    from: String,
    what: ChangedThing,
    /// The keys of the callers to notify. `None` means all callers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    keys: Option<Vec<String>>,
}

impl RelayedChange {
    /// Returns the notification, unless everything may have changed, and the callers to notify.
    fn into_parts(self) -> (Option<ChangeNotification>, NotifiedCallers) {
        let audience = self.keys.map_or(NotifiedCallers::All, |keys| {
            let mut audience = NotifiedCallers::None;
            for key in keys {
                audience.add(&NotifiedCallers::with_key(key.into()));
            }
            audience
        });
        (self.what.notification(), audience)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ChangedThing {
    Everything,
    Tools,
    Prompts,
    Resources,
    Resource(String),
}

impl ChangedThing {
    fn of(change: &ChangeNotification) -> Self {
        match change {
            ChangeNotification::List(ListKind::Tools) => Self::Tools,
            ChangeNotification::List(ListKind::Prompts) => Self::Prompts,
            ChangeNotification::List(ListKind::Resources) => Self::Resources,
            ChangeNotification::Resource(uri) => Self::Resource(uri.clone()),
        }
    }

    /// Returns the notification, or `None` if everything may have changed.
    fn notification(self) -> Option<ChangeNotification> {
        Some(match self {
            Self::Everything => return None,
            Self::Tools => ChangeNotification::List(ListKind::Tools),
            Self::Prompts => ChangeNotification::List(ListKind::Prompts),
            Self::Resources => ChangeNotification::List(ListKind::Resources),
            Self::Resource(uri) => ChangeNotification::Resource(uri),
        })
    }
}

/// The relay, and the changes that are waiting for it.
pub(super) struct Relaying {
    relay: Arc<dyn NotificationRelay>,
    /// The name by which this instance recognizes its own changes.
    instance: String,
    waiting: Mutex<BTreeSet<RelayedChange>>,
    /// This instance's changes that have been passed to the relay but have not come back from the log, and how often.
    /// Locked after `waiting`.
    #[cfg(feature = "http")]
    unread: Mutex<BTreeMap<RelayedChange, usize>>,
    news: Notify,
    /// The position in the log up to which this instance has notified its clients.
    #[cfg(feature = "http")]
    position: Mutex<Option<Arc<str>>>,
}

impl Relaying {
    pub(super) fn new(relay: Arc<dyn NotificationRelay>) -> Arc<Self> {
        Arc::new(Self {
            relay,
            instance: random_id::<12>(),
            waiting: Mutex::default(),
            #[cfg(feature = "http")]
            unread: Mutex::default(),
            news: Notify::new(),
            #[cfg(feature = "http")]
            position: Mutex::default(),
        })
    }

    /// Returns the position in the log up to which this instance has notified its clients, if it has received any.
    #[cfg(feature = "http")]
    pub(super) fn position(&self) -> Option<Arc<str>> {
        lock(&self.position).clone()
    }

    /// Notifies one client of all changes after a position, including this instance's own. If they are no longer known,
    /// everything has changed.
    #[cfg(feature = "http")]
    pub(super) async fn catch_up(&self, position: &str, mailbox: &Mailbox) {
        let mut retry = FIRST_RETRY;
        for _ in 0..CATCH_UP_ATTEMPTS {
            let changes = match self.relay.receive(Some(position)).await {
                Ok(received) => received.texts,
                Err(error) => {
                    tracing::debug!(%error, "changes that a session may have missed cannot be read");
                    sleep(retry).await;
                    retry = retry.saturating_mul(2).min(LONGEST_RETRY);
                    continue;
                }
            };
            let Some(changes) = changes else { break };
            for text in changes {
                let change = read_change(&text).map(RelayedChange::into_parts);
                notify(mailbox, change.unwrap_or((None, NotifiedCallers::All)));
            }
            return;
        }
        NOTIFICATION_GAPS.count(&[]);
        mailbox.post_all_lists();
        mailbox.post_all_resources();
    }

    /// Notifies a client that listens here again of this instance's changes that may not be in the log yet, or of which
    /// this instance does not know whether they are before its position. Its other clients were notified at once.
    #[cfg(feature = "http")]
    pub(super) fn notify_of_own_changes(&self, mailbox: &Mailbox) {
        let changes = {
            let waiting = lock(&self.waiting);
            let unread = lock(&self.unread);
            waiting
                .iter()
                .chain(unread.keys())
                .cloned()
                .collect::<Vec<_>>()
        };
        for change in changes {
            notify(mailbox, change.into_parts());
        }
    }

    /// Queues a change on this instance for the other instances.
    pub(super) fn send(&self, change: &ChangeNotification, audience: &NotifiedCallers) {
        let keys = match (audience, audience.keys()) {
            (NotifiedCallers::None, _) => return,
            (NotifiedCallers::All, _) => None,
            (_, Some(keys)) => Some(keys),
            // Functions and rules cannot be sent. All callers may learn that a list has changed, but not that a
            // resource has changed.
            (_, None) if matches!(change, ChangeNotification::List(_)) => None,
            (_, None) => return,
        };
        self.add([RelayedChange {
            from: self.instance.clone(),
            what: ChangedThing::of(change),
            keys,
        }]);
        self.news.notify_one();
    }

    fn add(&self, changes: impl IntoIterator<Item = RelayedChange>) {
        let mut waiting = lock(&self.waiting);
        waiting.extend(changes);
        if waiting.len() > MAX_WAITING {
            waiting.clear();
            waiting.insert(self.change_of_everything());
        }
    }

    fn change_of_everything(&self) -> RelayedChange {
        RelayedChange {
            from: self.instance.clone(),
            what: ChangedThing::Everything,
            keys: None,
        }
    }

    /// Publishes the waiting changes. If the relay fails, they are queued again.
    async fn publish(&self) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let changes = {
            let mut waiting = lock(&self.waiting);
            #[cfg(feature = "http")]
            self.mark_unread(&waiting);
            std::mem::take(&mut *waiting)
        };
        if changes.is_empty() {
            return Ok(());
        }
        // Serialization cannot fail because a change consists only of strings.
        let texts = changes
            .iter()
            .filter_map(|change| serde_json::to_string(change).ok());
        let texts: Vec<_> = texts.collect();
        let published = self.relay.publish(&texts).await;
        if published.is_err() {
            self.add(changes.iter().cloned());
            #[cfg(feature = "http")]
            for change in &changes {
                self.mark_read(change);
            }
        }
        published
    }

    /// Records that changes are passed to the relay.
    #[cfg(feature = "http")]
    fn mark_unread(&self, changes: &BTreeSet<RelayedChange>) {
        let mut unread = lock(&self.unread);
        for change in changes {
            let times = unread.entry(change.clone()).or_default();
            *times = times.saturating_add(1);
        }
        if unread.len() > MAX_WAITING {
            unread.clear();
            unread.insert(self.change_of_everything(), 1);
        }
    }

    /// Records that a change has come back, or that it has not reached the relay.
    #[cfg(feature = "http")]
    fn mark_read(&self, change: &RelayedChange) {
        let mut unread = lock(&self.unread);
        if let Some(times) = unread.get_mut(change) {
            *times = times.saturating_sub(1);
            if *times == 0 {
                unread.remove(change);
            }
        }
    }

    /// Publishes this instance's changes until the server stops.
    pub(super) async fn publish_all(self: Arc<Self>, server: ServerHandle) {
        let mut stopping = pin!(server.stopping());
        let mut retry = FIRST_RETRY;
        loop {
            tokio::select! {
                biased;
                () = self.news.notified() => {}
                () = &mut stopping => {
                    // Changes announced before the server stops are not lost, provided that the relay works.
                    let _ = self.publish().await;
                    return;
                }
            }
            while let Err(error) = self.publish().await {
                if retry == FIRST_RETRY {
                    tracing::warn!(%error, "changes cannot be announced to other instances; they are kept for later");
                }
                tokio::select! {
                    biased;
                    () = &mut stopping => return,
                    () = sleep(retry) => {}
                }
                retry = retry.saturating_mul(2).min(LONGEST_RETRY);
            }
            retry = FIRST_RETRY;
        }
    }

    /// Notifies this instance's clients of changes on other instances until the server stops.
    pub(super) async fn receive_all(self: Arc<Self>, shared: Arc<ServerShared>) {
        let stopping = ServerHandle(Arc::clone(&shared) as _);
        let mut stopping = pin!(stopping.stopping());
        let mut retry = FIRST_RETRY;
        let mut position = None::<String>;
        loop {
            let received = tokio::select! {
                biased;
                () = &mut stopping => return,
                received = self.relay.receive(position.as_deref()) => received,
            };
            let received = match received {
                Ok(received) => received,
                Err(error) => {
                    tracing::debug!(%error, "changes made on other instances cannot be received");
                    tokio::select! {
                        biased;
                        () = &mut stopping => return,
                        () = sleep(retry) => {}
                    }
                    retry = retry.saturating_mul(2).min(LONGEST_RETRY);
                    continue;
                }
            };
            retry = FIRST_RETRY;
            // Changes before the first position are unknown, and clients may have connected before that position was
            // received.
            #[cfg(feature = "http")]
            let reached = Arc::from(&*received.position);
            let is_first = position.replace(received.position).is_none();
            match received.texts {
                Some(texts) if !is_first => {
                    for text in &texts {
                        self.post(text, &shared);
                    }
                    // The log has nothing else, so what stands for too many changes has been read.
                    #[cfg(feature = "http")]
                    if texts.is_empty() {
                        lock(&self.unread).remove(&self.change_of_everything());
                    }
                }
                _ => {
                    if !is_first {
                        NOTIFICATION_GAPS.count(&[]);
                    }
                    // What has not come back by now may have been lost with the log.
                    #[cfg(feature = "http")]
                    lock(&self.unread).clear();
                    shared.notifications.post_everything();
                }
            }
            #[cfg(feature = "http")]
            lock(&self.position).replace(reached);
        }
    }

    /// Notifies this instance's clients of a change, unless this instance announced it.
    fn post(&self, text: &str, shared: &ServerShared) {
        let change = read_change(text);
        if let Some(known) = &change
            && known.from == self.instance
        {
            #[cfg(feature = "http")]
            self.mark_read(known);
            return;
        }
        match change.map(RelayedChange::into_parts) {
            Some((Some(change), audience)) => shared.notifications.post(&change, &audience),
            // A newer build may announce changes that this build does not recognize.
            _ => shared.notifications.post_everything(),
        }
    }
}

/// Reads a change from the log. Returns `None` if another build has announced it.
fn read_change(text: &str) -> Option<RelayedChange> {
    serde_json::from_str(text).ok()
}

/// Notifies a listener of a change, or of everything.
#[cfg(feature = "http")]
fn notify(mailbox: &Mailbox, (change, audience): (Option<ChangeNotification>, NotifiedCallers)) {
    if let Some(change) = change {
        mailbox.post(&change, &audience);
    } else {
        mailbox.post_all_lists();
        mailbox.post_all_resources();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::{Principal, StoreFuture};
    use crate::stores::RelayedTexts;

    struct Nowhere;

    impl NotificationRelay for Nowhere {
        fn publish<'a>(&'a self, _: &'a [String]) -> StoreFuture<'a, ()> {
            Box::pin(async { Ok(()) })
        }

        fn receive<'a>(&'a self, _: Option<&'a str>) -> StoreFuture<'a, RelayedTexts> {
            Box::pin(async { Ok(RelayedTexts::new(None, "")) })
        }
    }

    fn waiting(relaying: &Relaying) -> Vec<(ChangedThing, Option<Vec<String>>)> {
        let waiting = lock(&relaying.waiting).clone().into_iter();
        waiting.map(|change| (change.what, change.keys)).collect()
    }

    fn resource(uri: impl Into<String>) -> ChangeNotification {
        ChangeNotification::Resource(uri.into())
    }

    #[test]
    fn changes_are_sent_to_their_callers_only_or_not_at_all() {
        let relaying = Relaying::new(Arc::new(Nowhere));
        let tools = ChangeNotification::List(ListKind::Tools);
        let alice = NotifiedCallers::principal(&Principal::new("alice"));
        let chosen = NotifiedCallers::those(|_| true);
        relaying.send(&resource("a://a"), &NotifiedCallers::None);
        relaying.send(&resource("a://a"), &chosen);
        assert_eq!(waiting(&relaying), []);
        relaying.send(&resource("a://a"), &alice);
        let keys = vec![Principal::new("alice").key().to_owned()];
        let of_alice = (ChangedThing::Resource("a://a".into()), Some(keys));
        assert_eq!(waiting(&relaying), std::slice::from_ref(&of_alice));
        for _ in 0..2 {
            relaying.send(&tools, &chosen);
        }
        assert_eq!(waiting(&relaying), [(ChangedThing::Tools, None), of_alice]);
    }

    #[test]
    fn too_many_changes_become_one() {
        let relaying = Relaying::new(Arc::new(Nowhere));
        for number in 0..=MAX_WAITING {
            relaying.send(&resource(format!("a://{number}")), &NotifiedCallers::All);
        }
        assert_eq!(waiting(&relaying), [(ChangedThing::Everything, None)]);
    }

    #[cfg(feature = "http")]
    #[tokio::test]
    async fn changes_are_known_until_they_come_back_and_too_many_are_one() {
        let relaying = Relaying::new(Arc::new(Nowhere));
        let unread = || {
            let unread = lock(&relaying.unread).clone().into_iter();
            unread
                .map(|(change, times)| (change.what, times))
                .collect::<Vec<_>>()
        };
        let thing = ChangedThing::Resource("a://a".into());
        for times in 1..=2 {
            relaying.send(&resource("a://a"), &NotifiedCallers::All);
            relaying.publish().await.unwrap();
            assert_eq!(unread(), [(thing.clone(), times)]);
        }
        let change = lock(&relaying.unread).keys().next().unwrap().clone();
        relaying.mark_read(&change);
        assert_eq!(unread(), [(thing, 1)]);
        relaying.mark_read(&change);
        assert_eq!(unread(), []);
        for number in 0..=MAX_WAITING {
            relaying.send(&resource(format!("a://{number}")), &NotifiedCallers::All);
            relaying.publish().await.unwrap();
        }
        assert_eq!(unread(), [(ChangedThing::Everything, 1)]);
    }
}
