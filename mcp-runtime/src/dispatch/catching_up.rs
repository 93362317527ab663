//! The changes that a session may have missed while it moved from one instance to another.
//!
//! A session's record names the last change of which its client has certainly been notified, as a position in the log of
//! the instances' relay. The instance that takes over the session reads the log from there, and adds its own changes
//! that have not come back from the log yet. It also compares a digest of the definitions, because another build or
//! another instance can have others.
//!
//! Without a relay, nobody knows what has changed elsewhere. The session is then notified of everything.

use std::sync::Arc;

use tokio::task::AbortHandle;

use crate::dispatch::Dispatcher;
use crate::dispatch::notifications::{ListVersion, Mailbox};
use crate::dispatch::relaying::Relaying;

/// The changes of which a session's client has been notified.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SeenChanges {
    /// The changes to lists, as counted by one process.
    pub(crate) lists: ListVersion,
    /// The digest of the definitions and a position in the log, separated by a space, if the instances have a relay.
    pub(crate) relayed: Option<Box<str>>,
}

/// The changes in the relay's log since a position, which have yet to be read.
pub(super) struct MissedChanges {
    relaying: Arc<Relaying>,
    position: Box<str>,
}

impl SeenChanges {
    /// Returns the changes to lists that are compared when a session is resumed here.
    pub(super) fn lists_here(&self, dispatcher: &Dispatcher) -> ListVersion {
        let notifications = dispatcher.notifications();
        if self.relayed.is_none() || notifications.knows(self.lists) {
            self.lists
        } else {
            // The log and the digest have the changes.
            notifications.list_version()
        }
    }

    /// Notifies a session that is resumed here of what it may have missed, except for changes that have yet to be read.
    pub(super) fn notify_missed(
        &self,
        mailbox: &Mailbox,
        dispatcher: &Dispatcher,
    ) -> Option<MissedChanges> {
        let relayed = self
            .relayed
            .as_deref()
            .and_then(|text| text.split_once(' '));
        let relaying = dispatcher.shared.relaying();
        let Some(((digest, position), relaying)) = relayed.zip(relaying) else {
            mailbox.post_all_resources();
            return None;
        };
        if digest != digest_of(dispatcher) {
            mailbox.post_all_lists();
        }
        relaying.notify_of_own_changes(mailbox);
        let is_current = relaying.position().is_some_and(|now| *now == *position);
        (!is_current).then(|| MissedChanges {
            relaying: Arc::clone(relaying),
            position: position.into(),
        })
    }
}

impl MissedChanges {
    /// Reads the changes and notifies the session of them. Returns the task that does so.
    pub(super) fn read(self, mailbox: Arc<Mailbox>) -> AbortHandle {
        let reading = async move { self.relaying.catch_up(&self.position, &mailbox).await };
        tokio::spawn(reading).abort_handle()
    }
}

fn digest_of(dispatcher: &Dispatcher) -> String {
    format!("{:016x}", dispatcher.registry.snapshot().digest())
}

impl Dispatcher {
    /// Returns the changes up to now, of which this instance has notified its listeners.
    pub(crate) fn seen_changes(&self) -> SeenChanges {
        let position = self.shared.relaying().and_then(|relay| relay.position());
        SeenChanges {
            lists: self.notifications().list_version(),
            relayed: position.map(|at| format!("{} {at}", digest_of(self)).into()),
        }
    }
}
