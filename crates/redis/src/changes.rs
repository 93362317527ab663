//! Wakes the callers in this process that are waiting for a task to change, or for messages from other instances.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use tokio::sync::Notify;

/// Number of groups into which tasks are divided. A change to a task wakes the callers waiting for any task in its
/// group.
const GROUPS: usize = 256;

/// The message that wakes all callers, in place of an id. An instance sends it when another instance is not registered,
/// because Redis may have lost its data, and instances register when they look for messages.
const ALL: &[u8] = b"all";

/// The message that an instance has given back a task, in place of an id.
const DUE: &[u8] = b"due";

pub(crate) struct Changes {
    groups: [Notify; GROUPS],
    /// Keeps a message until it is waited for.
    due: Notify,
}

impl Changes {
    pub(crate) fn new() -> Self {
        Self {
            groups: std::array::from_fn(|_| Notify::new()),
            due: Notify::new(),
        }
    }

    /// Waits until an instance has given back a task since the previous call.
    pub(crate) async fn due(&self) {
        self.due.notified().await;
    }

    /// Returns the `Notify` for a task, which is notified when the task changes and possibly when other tasks change.
    pub(crate) fn of(&self, id: &[u8]) -> &Notify {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        let group = usize::try_from(hasher.finish() % GROUPS as u64).unwrap_or_default();
        &self.groups[group]
    }

    /// Wakes the callers that are waiting for this id.
    pub(crate) fn wake(&self, id: &[u8]) {
        if id == ALL {
            self.wake_all();
        } else if id == DUE {
            self.due.notify_one();
        } else {
            self.of(id).notify_waiters();
        }
    }

    /// Wakes all callers, because changes may have been missed.
    pub(crate) fn wake_all(&self) {
        self.due.notify_one();
        for group in &self.groups {
            group.notify_waiters();
        }
    }
}
