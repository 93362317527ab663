//! The changes that a session may have missed while it moved from one instance to another.
//!
//! A session's record names the last change of which its client has certainly been notified, as a position in the log of
//! the instances. The instance that takes over the session reads the log from there, and adds its own changes that may
//! not be in the log yet. It also compares a digest of the definitions, because another build or
//! another instance can have others.
//!
//! Without a log, nobody knows what has changed elsewhere. The session is then notified of everything.

use std::sync::Arc;

use tokio::task::AbortHandle;

use crate::context::{ChangeLog, LoggedChange};
use crate::dispatch::Dispatcher;
use crate::dispatch::notifications::{ListVersion, Mailbox};
use crate::spawn::spawn;

/// The changes of which a session's client has been notified.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SeenChanges {
    /// The changes to lists, as counted by one process.
    pub(crate) lists: ListVersion,
    /// The digest of the definitions and a position in the log, separated by a space, if the instances have one.
    pub(crate) logged: Option<Box<str>>,
}

/// The changes in the log since a position, which have yet to be read.
pub(super) struct MissedChanges {
    log: Arc<dyn ChangeLog>,
    position: Box<str>,
}

impl SeenChanges {
    /// Returns the changes to lists that are compared when a session is resumed here.
    pub(super) fn lists_here(&self, dispatcher: &Dispatcher) -> ListVersion {
        let notifications = dispatcher.notifications();
        if self.logged.is_none() || notifications.knows(self.lists) {
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
        let logged = self.logged.as_deref();
        let logged = logged.and_then(|text| text.split_once(' '));
        let log = dispatcher.shared.change_log();
        let Some(((digest, position), log)) = logged.zip(log) else {
            mailbox.post_all_resources();
            return None;
        };
        if digest != digest_of(dispatcher) {
            mailbox.post_all_lists();
        }
        for change in log.own_changes() {
            notify(mailbox, &change);
        }
        let is_current = log.position().is_some_and(|now| *now == *position);
        (!is_current).then(|| MissedChanges {
            log: Arc::clone(log),
            position: position.into(),
        })
    }
}

impl MissedChanges {
    /// Reads the changes and notifies the session of them. Returns the task that does so.
    pub(super) fn read(self, mailbox: Arc<Mailbox>) -> AbortHandle {
        let reading = async move {
            let changes = self.log.changes_after(self.position).await;
            for change in &changes.unwrap_or_else(|| vec![LoggedChange::EVERYTHING]) {
                notify(&mailbox, change);
            }
        };
        spawn(reading).abort_handle()
    }
}

/// Notifies a listener of a change, or of everything.
fn notify(mailbox: &Mailbox, LoggedChange { change, audience }: &LoggedChange) {
    if let Some(change) = change {
        mailbox.post(change, audience);
    } else {
        mailbox.post_all_lists();
        mailbox.post_all_resources();
    }
}

fn digest_of(dispatcher: &Dispatcher) -> String {
    format!("{:016x}", dispatcher.registry.snapshot().digest())
}

impl Dispatcher {
    /// Returns the changes up to now, of which this instance has notified its listeners.
    pub(crate) fn seen_changes(&self) -> SeenChanges {
        let position = self.shared.change_log().and_then(|log| log.position());
        SeenChanges {
            lists: self.notifications().list_version(),
            logged: position.map(|at| format!("{} {at}", digest_of(self)).into()),
        }
    }
}
