//! Change notifications sent to and received from other instances of the server.
//!
//! This instance's changes are merged while they are waiting, so memory use is bounded and no other work waits for the
//! relay.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_core::context::{
    ChangeListeners, ChangeLog, ChangeNotification, ChangesFuture, ExchangeFuture, LoggedChange,
};
use mcp_core::handler::access::NotifiedCallers;
use mcp_core::handler::option::{AddOn, StartingServer};
use mcp_core::observe::NOTIFICATION_GAPS;
use mcp_core::random::random_id;
use mcp_core::sync::lock;
use mcp_protocol::encode::ListKind;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::NotificationRelay;

/// The add-on of servers that have a relay for changes.
pub(crate) const SHARED_CHANGES: AddOn = AddOn {
    name: "shared changes",
    adds_extension: false,
    start,
};

fn start(server: &mut StartingServer<'_>) {
    let relay = server.stores.get();
    server.added.changes = relay.map(|relay| Arc::new(Relaying::new(relay)) as _);
}

/// Maximum number of different changes that can wait. If there are more, the other instances are notified that
/// everything has changed.
const MAX_WAITING: usize = 1_024;
/// Time before the first retry when a relay fails. The time doubles with each failure.
const FIRST_RETRY: Duration = Duration::from_millis(50);
/// Number of attempts to read what a session may have missed, before everything counts as changed.
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
    /// Returns the change in the form in which the core notifies clients.
    fn into_logged(self) -> LoggedChange {
        let audience = self.keys.map_or(NotifiedCallers::All, |keys| {
            let mut audience = NotifiedCallers::None;
            for key in keys {
                audience.add(&NotifiedCallers::with_key(key.into()));
            }
            audience
        });
        LoggedChange {
            change: self.what.notification(),
            audience,
        }
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
struct Relaying {
    relay: Arc<dyn NotificationRelay>,
    /// The name by which this instance recognizes its own changes.
    instance: String,
    waiting: Mutex<BTreeSet<RelayedChange>>,
    /// This instance's changes that have been passed to the relay but have not come back from the log, and how often.
    /// Locked after `waiting`.
    unread: Mutex<BTreeMap<RelayedChange, usize>>,
    news: Notify,
    /// The position in the log up to which this instance has notified its clients.
    position: Mutex<Option<Arc<str>>>,
}

impl Relaying {
    fn new(relay: Arc<dyn NotificationRelay>) -> Self {
        Self {
            relay,
            instance: random_id::<12>(),
            waiting: Mutex::default(),
            unread: Mutex::default(),
            news: Notify::new(),
            position: Mutex::default(),
        }
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
            for change in &changes {
                self.mark_read(change);
            }
        }
        published
    }

    /// Records that changes are passed to the relay.
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
    async fn publish_all(&self, mut stopping: impl Future<Output = ()> + Unpin) {
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
    async fn receive_all(&self, listeners: &dyn ChangeListeners) {
        let mut stopping = listeners.stopped();
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
            let reached = Arc::from(&*received.position);
            let is_first = position.replace(received.position).is_none();
            match received.texts {
                Some(texts) if !is_first => {
                    for text in &texts {
                        self.post(text, listeners);
                    }
                    // The log has nothing else, so what stands for too many changes has been read.
                    if texts.is_empty() {
                        lock(&self.unread).remove(&self.change_of_everything());
                    }
                }
                _ => {
                    if !is_first {
                        NOTIFICATION_GAPS.count(&[]);
                    }
                    // What has not come back by now may have been lost with the log.
                    lock(&self.unread).clear();
                    listeners.notify_of_logged(&LoggedChange::EVERYTHING);
                }
            }
            lock(&self.position).replace(reached);
        }
    }

    /// Notifies this instance's clients of a change, unless this instance announced it.
    fn post(&self, text: &str, listeners: &dyn ChangeListeners) {
        let change = read_change(text);
        match &change {
            Some(known) if known.from == self.instance => self.mark_read(known),
            _ => listeners.notify_of_logged(&logged(change)),
        }
    }
}

impl ChangeLog for Relaying {
    fn exchange(self: Arc<Self>, listeners: Arc<dyn ChangeListeners>) -> Vec<ExchangeFuture> {
        let (publishing, stopping) = (Arc::clone(&self), listeners.stopped());
        vec![
            Box::pin(async move { publishing.publish_all(stopping).await }),
            Box::pin(async move { self.receive_all(&*listeners).await }),
        ]
    }

    fn announce(&self, change: &ChangeNotification, audience: &NotifiedCallers) {
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

    fn position(&self) -> Option<Arc<str>> {
        lock(&self.position).clone()
    }

    fn own_changes(&self) -> Vec<LoggedChange> {
        let waiting = lock(&self.waiting);
        let unread = lock(&self.unread);
        let changes = waiting.iter().chain(unread.keys()).cloned();
        changes.map(RelayedChange::into_logged).collect()
    }

    fn changes_after(self: Arc<Self>, position: Box<str>) -> ChangesFuture {
        Box::pin(async move {
            let mut retry = FIRST_RETRY;
            for _ in 0..CATCH_UP_ATTEMPTS {
                match self.relay.receive(Some(&position)).await {
                    Ok(received) => {
                        let Some(texts) = received.texts else { break };
                        return Some(texts.iter().map(|text| logged(read_change(text))).collect());
                    }
                    Err(error) => {
                        tracing::debug!(%error, "changes that a session may have missed cannot be read");
                        sleep(retry).await;
                        retry = retry.saturating_mul(2).min(LONGEST_RETRY);
                    }
                }
            }
            NOTIFICATION_GAPS.count(&[]);
            None
        })
    }
}

/// Returns a change from the log. A newer build may announce changes that this build does not recognize.
fn logged(change: Option<RelayedChange>) -> LoggedChange {
    change.map_or(LoggedChange::EVERYTHING, RelayedChange::into_logged)
}

/// Reads a change from the log. Returns `None` if another build has announced it.
fn read_change(text: &str) -> Option<RelayedChange> {
    serde_json::from_str(text).ok()
}

#[cfg(test)]
mod tests {
    use mcp_core::context::{Principal, StoreFuture};

    use super::*;
    use crate::RelayedTexts;

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
    fn relayed_changes_are_sent_only_to_their_audience() {
        let relaying = Relaying::new(Arc::new(Nowhere));
        let tools = ChangeNotification::List(ListKind::Tools);
        let alice = NotifiedCallers::principal(&Principal::new("alice"));
        let chosen = NotifiedCallers::those(|_| true);
        relaying.announce(&resource("a://a"), &NotifiedCallers::None);
        relaying.announce(&resource("a://a"), &chosen);
        assert_eq!(waiting(&relaying), []);
        relaying.announce(&resource("a://a"), &alice);
        let keys = vec![Principal::new("alice").key().to_owned()];
        let of_alice = (ChangedThing::Resource("a://a".into()), Some(keys));
        assert_eq!(waiting(&relaying), std::slice::from_ref(&of_alice));
        for _ in 0..2 {
            relaying.announce(&tools, &chosen);
        }
        assert_eq!(waiting(&relaying), [(ChangedThing::Tools, None), of_alice]);
    }

    #[test]
    fn too_many_relayed_changes_are_merged_into_one() {
        let relaying = Relaying::new(Arc::new(Nowhere));
        for number in 0..=MAX_WAITING {
            relaying.announce(&resource(format!("a://{number}")), &NotifiedCallers::All);
        }
        assert_eq!(waiting(&relaying), [(ChangedThing::Everything, None)]);
    }

    #[tokio::test]
    async fn own_changes_are_tracked_until_they_are_read_back_and_are_bounded() {
        let relaying = Relaying::new(Arc::new(Nowhere));
        let unread = || {
            let unread = lock(&relaying.unread).clone().into_iter();
            unread
                .map(|(change, times)| (change.what, times))
                .collect::<Vec<_>>()
        };
        let thing = ChangedThing::Resource("a://a".into());
        for times in 1..=2 {
            relaying.announce(&resource("a://a"), &NotifiedCallers::All);
            relaying.publish().await.unwrap();
            assert_eq!(unread(), [(thing.clone(), times)]);
        }
        let change = lock(&relaying.unread).keys().next().unwrap().clone();
        relaying.mark_read(&change);
        assert_eq!(unread(), [(thing, 1)]);
        relaying.mark_read(&change);
        assert_eq!(unread(), []);
        for number in 0..=MAX_WAITING {
            relaying.announce(&resource(format!("a://{number}")), &NotifiedCallers::All);
            relaying.publish().await.unwrap();
        }
        assert_eq!(unread(), [(ChangedThing::Everything, 1)]);
    }
}
