//! Change notifications: the listeners, and the changes that each listener has yet to be notified of.
//!
//! A listener is a [`Mailbox`] that records *what* has changed, not how often. Changes that occur faster than the
//! client reads are merged into a single notification. Changes are never lost, and memory use is bounded by the
//! client's subscriptions. The task that writes to the client's stream drains the mailbox; the mailbox itself only
//! wakes that task.

mod subscriptions;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use mcp_schema::template::normal_uri;
use serde::{Deserialize, Serialize};

use crate::budget::LazyCharge;
use crate::context::{Caller, ChangeNotification, ExtensionNotification};
use crate::handler::access::NotifiedCallers;
use crate::jsonrpc::{ErrorObject, RequestId};
use crate::limits::StreamLimits;
use crate::protocol::encode;
use crate::protocol::encode::{ExtensionFilter, ListKind, ListenFilter};
use crate::sync::{Wake, lock};

pub use subscriptions::Subscriptions;
pub(super) use subscriptions::subscription_bytes;

/// Approximate size of a notification in bytes.
const NOTICE: usize = 192;

const LISTS: [ListKind; 3] = [ListKind::Tools, ListKind::Prompts, ListKind::Resources];

/// All listeners.
#[derive(Default)]
pub(crate) struct NotificationListeners {
    mailboxes: Mutex<Vec<Weak<Mailbox>>>,
    /// The changes so far, used when sessions are resumed.
    versions: Mutex<ListVersions>,
}

impl NotificationListeners {
    /// Adds a listener, which is notified of changes until it is dropped. `charge` counts the bytes of its
    /// subscriptions.
    pub(crate) fn listen(
        &self,
        mut filter: ListenFilter,
        wake: Wake,
        (caller, charge): (Caller, LazyCharge),
    ) -> Arc<Mailbox> {
        let keys = filter.extensions.iter().flat_map(|filter| &filter.keys);
        let key_bytes = keys.flatten().map(|key| subscription_bytes(key)).sum();
        let uris = std::mem::take(&mut filter.uris).into_iter().collect();
        let mailbox = Arc::new(Mailbox {
            state: Mutex::new(MailboxState {
                filter,
                uris,
                key_bytes,
                charge,
                caller,
                pending: PendingNotifications::default(),
            }),
            wake,
        });
        let mut mailboxes = lock(&self.mailboxes);
        // Dropped listeners are removed only when the list is full. Afterward, the list's capacity is about twice its
        // length, so this rarely happens.
        if mailboxes.len() == mailboxes.capacity() {
            mailboxes.retain(|mailbox| mailbox.strong_count() > 0);
            let living = mailboxes.len();
            mailboxes.shrink_to(living.saturating_mul(2));
            mailboxes.reserve(living.max(16));
        }
        mailboxes.push(Arc::downgrade(&mailbox));
        mailbox
    }

    /// Adds a listener that has seen all changes up to `seen`. The listener is notified of lists that have changed
    /// since then, or may have.
    pub(super) fn listen_again(
        &self,
        filter: ListenFilter,
        wake: Wake,
        listener: (Caller, LazyCharge),
        seen: ListVersion,
    ) -> Arc<Mailbox> {
        let mailbox = self.listen(filter, wake, listener);
        let audiences = self.versions().since(seen);
        for (list, audience) in LISTS.into_iter().zip(audiences) {
            mailbox.post_list(list, &audience);
        }
        mailbox
    }

    /// Returns `true` if a version is from this process, so that the changes since then are known.
    pub(super) fn knows(&self, seen: ListVersion) -> bool {
        self.versions().knows(seen)
    }

    /// Returns the current version of the lists, for a new listener.
    pub(super) fn list_version(&self) -> ListVersion {
        self.versions().now()
    }

    fn versions(&self) -> MutexGuard<'_, ListVersions> {
        lock(&self.versions)
    }

    /// Notifies the callers in `audience` who are subscribed to this change.
    pub(crate) fn post(&self, change: &ChangeNotification, audience: &NotifiedCallers) {
        match change {
            ChangeNotification::List(list) => self.post_list(*list, audience),
            ChangeNotification::Resource(uri) => {
                let uri = &normal_uri(uri);
                for mailbox in self.listeners() {
                    mailbox.post_resource(uri, audience);
                }
            }
        }
    }

    /// Notifies the callers in `audience` that a list has changed.
    pub(crate) fn post_list(&self, list: ListKind, audience: &NotifiedCallers) {
        // Records the change first, so that a listener added at the same time is still notified.
        self.versions().note(list, audience);
        for mailbox in self.listeners() {
            mailbox.post_list(list, audience);
        }
    }

    /// Notifies all listeners about everything to which they are subscribed, except for extensions. Used when changes
    /// may have been missed.
    pub(super) fn post_everything(&self) {
        for list in LISTS {
            self.post_list(list, &NotifiedCallers::All);
        }
        for mailbox in self.listeners() {
            mailbox.post_all_resources();
        }
    }

    /// Notifies the listeners in the notification's audience that request it with this filter member.
    pub(super) fn post_extension(&self, member: &str, notification: &ExtensionNotification) {
        let listeners = self.listeners();
        if listeners.is_empty() {
            return;
        }
        let notification = Arc::new(notification.clone());
        for mailbox in listeners {
            mailbox.post_extension(member, &notification);
        }
    }

    /// Returns `true` if a listener requests notifications with this filter member and this key.
    pub(super) fn are_followed(&self, member: &str, key: Option<&str>) -> bool {
        let mut listeners = self.listeners().into_iter();
        listeners.any(|mailbox| mailbox.follows(member, key))
    }

    /// Returns `true` if a listener is subscribed to the resource at this URI.
    pub(super) fn have_subscribers(&self, uri: &str) -> bool {
        let uri = &normal_uri(uri);
        let mut listeners = self.listeners().into_iter();
        listeners.any(|mailbox| !mailbox.state().uris.spellings(uri).is_empty())
    }

    fn listeners(&self) -> Vec<Arc<Mailbox>> {
        let mailboxes = lock(&self.mailboxes);
        mailboxes.iter().filter_map(Weak::upgrade).collect()
    }
}

impl std::fmt::Debug for NotificationListeners {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NotificationListeners")
            .finish_non_exhaustive()
    }
}

/// A single listener: a legacy session or a `subscriptions/listen` request.
pub(crate) struct Mailbox {
    state: Mutex<MailboxState>,
    wake: Wake,
}

struct MailboxState {
    /// The listener's filter, without its URIs.
    filter: ListenFilter,
    uris: Subscriptions,
    /// The bytes that count for the keys in the filter.
    key_bytes: usize,
    /// The bytes that count for the URIs and keys.
    charge: LazyCharge,
    /// The current caller. Its scopes can change while a session is open.
    caller: Caller,
    pending: PendingNotifications,
}

impl Mailbox {
    /// Notifies this listener of a change, if its caller is in `audience` and it is subscribed.
    pub(super) fn post(&self, change: &ChangeNotification, audience: &NotifiedCallers) {
        match change {
            ChangeNotification::List(list) => self.post_list(*list, audience),
            ChangeNotification::Resource(uri) => self.post_resource(&normal_uri(uri), audience),
        }
    }

    /// Notifies this listener that all lists may have changed.
    pub(super) fn post_all_lists(&self) {
        for list in LISTS {
            self.post_list(list, &NotifiedCallers::All);
        }
    }

    /// Returns `true` if the listener has been notified of all changes.
    pub(super) fn is_empty(&self) -> bool {
        let pending = &self.state().pending;
        pending.lists.iter().all(NotifiedCallers::is_empty)
            && pending.uris.is_empty()
            && pending.extensions.is_empty()
    }

    fn post_list(&self, changed: ListKind, audience: &NotifiedCallers) {
        let news = {
            let MailboxState {
                filter, pending, ..
            } = &mut *self.state();
            let is_followed = match changed {
                ListKind::Tools => filter.tools,
                ListKind::Prompts => filter.prompts,
                ListKind::Resources => filter.resources,
            };
            let mut lists = LISTS.iter().zip(&mut pending.lists);
            let told = lists.find(|(list, _)| **list == changed && is_followed);
            told.is_some_and(|(_, told)| told.add(audience))
        };
        if news {
            (self.wake)();
        }
    }

    /// Notifies of a resource, whose URI is in its normal form, under each URI to which the listener is subscribed.
    fn post_resource(&self, uri: &str, audience: &NotifiedCallers) {
        let is_followed = !self.state().uris.spellings(uri).is_empty();
        if !is_followed || !self.is_in(audience) {
            return;
        }
        let news = {
            let MailboxState { uris, pending, .. } = &mut *self.state();
            let mut news = false;
            for uri in uris.spellings(uri) {
                news |= pending.add_resource(&uri, audience);
            }
            news
        };
        if news {
            (self.wake)();
        }
    }

    /// Notifies this listener that all resources to which it is subscribed may have changed.
    pub(super) fn post_all_resources(&self) {
        let news = {
            let MailboxState { uris, pending, .. } = &mut *self.state();
            let mut news = false;
            for uri in uris.iter() {
                news |= pending.add_resource(uri, &NotifiedCallers::All);
            }
            news
        };
        if news {
            (self.wake)();
        }
    }

    fn post_extension(&self, member: &str, notification: &Arc<ExtensionNotification>) {
        let is_followed = self.follows(member, notification.key.as_deref());
        if !is_followed || !self.is_in(&notification.audience) {
            return;
        }
        // If this replaces an earlier notification, the client has already been woken for that notification.
        let is_new = self.state().pending.add_extension(notification);
        if is_new {
            (self.wake)();
        }
    }

    /// Returns `true` if the listener requests an extension's notifications with this filter member and this key.
    fn follows(&self, member: &str, key: Option<&str>) -> bool {
        let has_key = |filter: &ExtensionFilter| match (&filter.keys, key) {
            (None, None) => true,
            (Some(keys), Some(key)) => keys.iter().any(|known| **known == *key),
            (None, Some(_)) | (Some(_), None) => false,
        };
        let filters = &self.state().filter.extensions;
        let mut filters = filters.iter().filter(|filter| *filter.member == *member);
        filters.any(has_key)
    }

    /// Returns `true` if the listener's caller is in the audience. The lock is not held while user code decides this.
    fn is_in(&self, audience: &NotifiedCallers) -> bool {
        if matches!(audience, NotifiedCallers::All) {
            return true;
        }
        let caller = self.state().caller.clone();
        audience.includes(&caller)
    }

    /// Sets the caller on whose behalf the listener is open.
    pub(super) fn set_caller(&self, caller: &Caller) {
        self.state().caller = caller.clone();
    }

    /// Subscribes to another resource. Subscribing to the same resource again has no effect.
    ///
    /// # Errors
    ///
    /// Fails if a limit would be exceeded.
    pub(super) fn subscribe(&self, uri: &str, limits: &StreamLimits) -> Result<(), ErrorObject> {
        let state = &mut *self.state();
        if state.uris.contains(uri) {
            return Ok(());
        }
        let mut uris = state.uris.clone();
        uris.insert(uri.into());
        check_subscriptions("a session", (uris.count(), uris.bytes()), limits)?;
        if !state
            .charge
            .try_resize(state.key_bytes.saturating_add(uris.bytes()))
        {
            return Err(no_room());
        }
        state.uris = uris;
        Ok(())
    }

    /// Returns the URIs of the resources to which the listener is subscribed.
    pub(super) fn uris(&self) -> Subscriptions {
        self.state().uris.clone()
    }

    /// Replaces the listener's subscriptions with those that its session has. They were accepted earlier, perhaps by
    /// another instance, and are not refused now.
    pub(super) fn replace_subscriptions(&self, uris: &Subscriptions) {
        let mut state = self.state();
        state.uris = uris.clone();
        state.settle();
    }

    /// Returns the number of resources and keys to which the listener is subscribed, and the bytes that count for them.
    pub(super) fn subscription_size(&self) -> (usize, usize) {
        let state = self.state();
        let keys = state.filter.extensions.iter();
        let keys: usize = keys.map(ExtensionFilter::key_count).sum();
        let bytes = state.uris.bytes().saturating_add(state.key_bytes);
        (state.uris.count().saturating_add(keys), bytes)
    }

    /// Ends the subscription to a resource, however the client wrote its URI.
    pub(super) fn unsubscribe(&self, uri: &str) {
        let mut state = self.state();
        for spelling in state.uris.spellings(&normal_uri(uri)) {
            state.uris.remove(&spelling);
        }
        state.settle();
    }

    /// Writes the pending notifications, one on each line, until `out` holds `room` bytes. Returns `true` if no
    /// notifications are left.
    ///
    /// `subscription` is the id of the listen request, or `None` for a legacy session. The caller is not notified of
    /// changes that affect only other callers.
    pub(crate) fn drain(
        &self,
        out: &mut Vec<u8>,
        room: usize,
        subscription: Option<&RequestId>,
        caller: &Caller,
    ) -> bool {
        let PendingNotifications {
            mut lists,
            mut uris,
            mut extensions,
        } = std::mem::take(&mut self.state().pending);
        // The lock is not held here, because determining whether the caller is included may run user code.
        for (list, audience) in LISTS.into_iter().zip(&mut lists) {
            if !audience.includes(caller) {
                *audience = NotifiedCallers::None;
            } else if out.len() < room {
                *audience = NotifiedCallers::None;
                out.reserve(NOTICE);
                encode::list_changed(out, list, subscription);
                out.push(b'\n');
            }
        }
        uris.retain(|(uri, audience)| {
            if !audience.includes(caller) {
                return false;
            }
            if out.len() >= room {
                return true;
            }
            out.reserve(NOTICE.saturating_add(uri.len()));
            encode::resource_updated(out, uri, subscription);
            out.push(b'\n');
            false
        });
        extensions.retain(|notification| {
            if !notification.audience.includes(caller) {
                return false;
            }
            if out.len() >= room {
                return true;
            }
            let ExtensionNotification { method, params, .. } = &**notification;
            encode::extension_notification(out, method, params, subscription);
            out.push(b'\n');
            false
        });
        let MailboxState {
            uris: followed,
            pending,
            ..
        } = &mut *self.state();
        for (told, left) in pending.lists.iter_mut().zip(&lists) {
            told.add(left);
        }
        let is_over =
            uris.is_empty() && extensions.is_empty() && lists.iter().all(NotifiedCallers::is_empty);
        // This puts the earlier changes back in front of later changes.
        let later = std::mem::replace(&mut pending.uris, uris);
        pending.uris.retain(|(uri, _)| followed.contains(uri));
        for (uri, audience) in later {
            pending.add_resource(&uri, &audience);
        }
        let later = std::mem::replace(&mut pending.extensions, extensions);
        for notification in later {
            pending.add_extension(&notification);
        }
        is_over && pending.uris.is_empty() && pending.extensions.is_empty()
    }

    fn state(&self) -> MutexGuard<'_, MailboxState> {
        lock(&self.state)
    }
}

impl MailboxState {
    /// Counts the bytes of the present subscriptions, and forgets changes of all other resources.
    fn settle(&mut self) {
        let bytes = self.uris.bytes().saturating_add(self.key_bytes);
        self.charge.resize(bytes);
        let uris = &self.uris;
        self.pending.uris.retain(|(uri, _)| uris.contains(uri));
    }
}

/// The error for a subscription for which all clients' subscriptions leave no room.
pub(super) fn no_room() -> ErrorObject {
    ErrorObject::invalid_params(
        "the server has no room for further subscriptions; unsubscribe from other resources first",
    )
}

/// Checks how many subscriptions a session or connection has, and the bytes that count for them.
pub(super) fn check_subscriptions(
    who: &str,
    (count, bytes): (usize, usize),
    limits: &StreamLimits,
) -> Result<(), ErrorObject> {
    let (most, most_bytes) = (
        limits.max_subscriptions,
        limits.max_subscription_bytes_per_session,
    );
    if count > most {
        return Err(ErrorObject::invalid_params(format!(
            "{who} can subscribe to at most {most} resources and keys"
        )));
    }
    if bytes > most_bytes {
        return Err(ErrorObject::invalid_params(format!(
            "the subscriptions of {who} can have at most {most_bytes} bytes"
        )));
    }
    Ok(())
}

impl std::fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mailbox").finish_non_exhaustive()
    }
}

// --- The merged changes that a listener has yet to be notified of.

/// The changes since the client was last notified.
#[derive(Default)]
pub(super) struct PendingNotifications {
    /// For each list, the callers who have yet to be notified of a change.
    pub(super) lists: [NotifiedCallers; 3],
    /// The resources that have changed, and the callers who have yet to be notified.
    pub(super) uris: Vec<(Arc<str>, NotifiedCallers)>,
    /// The latest notification with each name and key, in the order in which they were sent. Bounded by the keys in the
    /// filter, because notifications for other callers are not added.
    pub(super) extensions: Vec<Arc<ExtensionNotification>>,
}

impl PendingNotifications {
    /// Adds a changed resource. Returns `true` if more callers must be notified than before.
    fn add_resource(&mut self, uri: &Arc<str>, audience: &NotifiedCallers) -> bool {
        let mut uris = self.uris.iter_mut();
        if let Some((_, told)) = uris.find(|(known, _)| *known == *uri) {
            return told.add(audience);
        }
        self.uris.push((Arc::clone(uri), audience.clone()));
        true
    }

    /// Adds an extension's notification. Returns `true` unless it replaces an earlier notification.
    fn add_extension(&mut self, notification: &Arc<ExtensionNotification>) -> bool {
        let mut known = self.extensions.iter();
        let replaced = known.position(|known| known.is_replaced_by(notification));
        if let Some(replaced) = replaced {
            self.extensions.remove(replaced);
        }
        self.extensions.push(Arc::clone(notification));
        replaced.is_none()
    }
}

// --- A record of the changes to lists so far, used when sessions are resumed.
//
// Versions are counts rather than timestamps because clocks can be set back. Counts from different sources cannot be
// compared; a source is usually one process. A session with a count from another source is notified that every list
// has changed. That notification may be unnecessary, but changes are never lost. Instances with a log of changes use the
// log instead (`catching_up.rs`).

/// The number of list changes that a given source had counted at a given time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListVersion {
    /// A random number. Two sources have the same number with a probability of 1 in 2^32. Zero denotes an unknown
    /// source.
    source: u32,
    count: u32,
}

impl ListVersion {
    /// Returns `true` if the source is unknown.
    #[allow(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde passes a reference"
    )]
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}

/// A record of the changes to lists so far.
pub(super) struct ListVersions {
    now: ListVersion,
    lists: [ListHistory; 3],
}

/// The changes to a single list.
#[derive(Default)]
struct ListHistory {
    /// The count as of the most recent change visible to all callers.
    everybody: u32,
    /// Later changes that are visible only to some callers, each with the count as of that change. Contains at most
    /// [`MAX_RECORDED_CHANGES`](Self::MAX_RECORDED_CHANGES) entries.
    some: VecDeque<(u32, NotifiedCallers)>,
}

impl ListHistory {
    /// Maximum number of changes recorded with a separate audience. Older changes are treated as visible to all
    /// callers.
    const MAX_RECORDED_CHANGES: usize = 32;

    fn note(&mut self, count: u32, audience: &NotifiedCallers) {
        match audience {
            NotifiedCallers::None => {}
            NotifiedCallers::Some(_) => self.some.push_back((count, audience.clone())),
            NotifiedCallers::All => {
                self.everybody = count;
                self.some.clear();
            }
        }
        if self.some.len() > Self::MAX_RECORDED_CHANGES
            && let Some((oldest, _)) = self.some.pop_front()
        {
            self.everybody = oldest;
        }
    }

    fn since(&self, count: u32) -> NotifiedCallers {
        if self.everybody > count {
            return NotifiedCallers::All;
        }
        let mut audience = NotifiedCallers::default();
        for (_, users) in self.some.iter().filter(|(after, _)| *after > count) {
            audience.add(users);
        }
        audience
    }
}

impl Default for ListVersions {
    /// Creates a new source without any changes.
    fn default() -> Self {
        let source = u32::from_ne_bytes(crate::random::random()).max(1);
        Self {
            now: ListVersion { source, count: 0 },
            lists: Default::default(),
        }
    }
}

impl ListVersions {
    /// Returns the number of changes so far, for later comparison.
    pub(super) fn now(&self) -> ListVersion {
        self.now
    }

    /// Records a change to a list that is visible to the callers in `audience`.
    pub(super) fn note(&mut self, list: ListKind, audience: &NotifiedCallers) {
        let Some(count) = self.now.count.checked_add(1) else {
            // Because the source is new, every session is notified of changes to all lists when it resumes.
            *self = Self::default();
            return;
        };
        self.now.count = count;
        for (kind, history) in LISTS.iter().zip(&mut self.lists) {
            if *kind == list {
                history.note(count, audience);
            }
        }
    }

    /// Returns `true` if a version is from this source.
    pub(super) fn knows(&self, seen: ListVersion) -> bool {
        seen.source == self.now.source
    }

    /// Returns, for each list, the callers for whom it has changed since `seen`.
    pub(super) fn since(&self, seen: ListVersion) -> [NotifiedCallers; 3] {
        if !self.knows(seen) {
            return [(); 3].map(|()| NotifiedCallers::All);
        }
        let lists = self.lists.each_ref();
        lists.map(|history| history.since(seen.count))
    }
}

#[cfg(test)]
mod versions_tests {
    use crate::context::{Caller, Principal};
    use crate::dispatch::notifications::*;
    use crate::handler::access::Access;

    fn users(scope: &str) -> NotifiedCallers {
        let mut audience = NotifiedCallers::default();
        audience.add_callers_with_access(&Access::requiring(&[scope]));
        audience
    }

    fn caller(scope: &str) -> Caller {
        Principal::new("alice").with_scopes([scope]).into()
    }

    /// Returns, for each list, whether this caller is notified of a change.
    fn told(versions: &ListVersions, seen: ListVersion, caller: &Caller) -> [bool; 3] {
        let audiences = versions.since(seen);
        audiences.map(|audience| audience.includes(caller))
    }

    #[test]
    fn only_changes_after_the_known_list_version_are_reported() {
        let mut versions = ListVersions::default();
        let anybody = Caller::anonymous();
        let first = versions.now();
        versions.note(ListKind::Prompts, &NotifiedCallers::All);
        let second = versions.now();
        assert_eq!(told(&versions, first, &anybody), [false, true, false]);
        assert_eq!(told(&versions, second, &anybody), [false; 3]);
        versions.note(ListKind::Tools, &NotifiedCallers::All);
        assert_eq!(told(&versions, first, &anybody), [true, true, false]);
        assert_eq!(told(&versions, second, &anybody), [true, false, false]);
    }

    #[test]
    fn an_unknown_list_version_reports_every_list_as_changed() {
        let [here, elsewhere] = [ListVersions::default(), ListVersions::default()];
        let anybody = Caller::anonymous();
        assert_eq!(told(&here, elsewhere.now(), &anybody), [true; 3]);
        assert_eq!(told(&here, ListVersion::default(), &anybody), [true; 3]);
    }

    #[test]
    fn a_list_version_that_overflows_loses_no_change() {
        let mut versions = ListVersions::default();
        versions.now.count = u32::MAX;
        let full = versions.now();
        versions.note(ListKind::Tools, &NotifiedCallers::All);
        assert!(told(&versions, full, &Caller::anonymous())[0]);
    }

    #[test]
    fn changes_with_limited_visibility_are_reported_to_callers_that_see_them() {
        let mut versions = ListVersions::default();
        let first = versions.now();
        versions.note(ListKind::Tools, &users("a"));
        let second = versions.now();
        versions.note(ListKind::Tools, &users("b"));
        assert!(told(&versions, first, &caller("a"))[0]);
        assert!(!told(&versions, second, &caller("a"))[0]);
        assert!(told(&versions, second, &caller("b"))[0]);
        assert!(!told(&versions, first, &caller("c"))[0]);
        // The audience of a change is eventually discarded.
        for _ in 0..ListHistory::MAX_RECORDED_CHANGES {
            versions.note(ListKind::Tools, &users("b"));
        }
        assert_eq!(
            versions.lists[0].some.len(),
            ListHistory::MAX_RECORDED_CHANGES
        );
        assert!(told(&versions, first, &caller("c"))[0]);
        let last = versions.now();
        versions.note(ListKind::Tools, &NotifiedCallers::All);
        assert!(versions.lists[0].some.is_empty());
        assert!(told(&versions, last, &caller("c"))[0]);
    }
}
