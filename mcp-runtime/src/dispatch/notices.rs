//! Change notices: who listens, and what each has not been told yet.
//!
//! A listener is a [`Mailbox`] that remembers *what* changed, not how often: changes that come faster than its client
//! reads become one notice, nothing is lost, and memory is bounded by what the client follows. Whoever writes to the
//! client empties it; the mailbox only wakes the writer.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::SystemTime;

use crate::context::Change;
use crate::jsonrpc::RequestId;
use crate::protocol::encode::{self, Filter, ListKind};

/// Wakes whoever writes to a client.
pub(crate) type Wake = Arc<dyn Fn() + Send + Sync>;

/// About how many bytes a notice takes.
const NOTICE: usize = 192;

const LISTS: [ListKind; 3] = [ListKind::Tools, ListKind::Prompts, ListKind::Resources];

/// Everybody who listens.
#[derive(Default)]
pub(crate) struct Notices {
    mailboxes: Mutex<Vec<Weak<Mailbox>>>,
    /// When each list last changed, for those who come back.
    changed: Mutex<[Option<SystemTime>; 3]>,
}

impl Notices {
    /// A new listener, which hears of changes as long as it lives.
    pub(crate) fn listen(&self, filter: Filter, wake: Wake) -> Arc<Mailbox> {
        let mailbox = Arc::new(Mailbox {
            state: Mutex::new(State {
                filter,
                pending: Pending::default(),
            }),
            wake,
        });
        let mut mailboxes = self
            .mailboxes
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // Only when the list is full, so that those who are gone are looked for no more often than it doubles.
        if mailboxes.len() == mailboxes.capacity() {
            mailboxes.retain(|mailbox| mailbox.strong_count() > 0);
            let living = mailboxes.len();
            mailboxes.shrink_to(living.saturating_mul(2));
            mailboxes.reserve(living.max(16));
        }
        mailboxes.push(Arc::downgrade(&mailbox));
        mailbox
    }

    /// A listener who was away since `since`: it hears of lists that changed meanwhile.
    #[cfg(feature = "http")]
    pub(super) fn listen_again(
        &self,
        filter: Filter,
        wake: Wake,
        since: SystemTime,
    ) -> Arc<Mailbox> {
        let mailbox = self.listen(filter, wake);
        let changed = *self.changed();
        for (list, changed) in LISTS.into_iter().zip(changed) {
            if changed.is_some_and(|changed| changed >= since) {
                mailbox.post(&Change::List(list));
            }
        }
        mailbox
    }

    fn changed(&self) -> MutexGuard<'_, [Option<SystemTime>; 3]> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells everybody whom it concerns.
    pub(crate) fn post(&self, change: &Change) {
        if let Change::List(changed) = change {
            // Noted first: whoever begins to listen meanwhile is told one way or the other.
            for (list, when) in LISTS.iter().zip(&mut *self.changed()) {
                if list == changed {
                    *when = Some(SystemTime::now());
                }
            }
        }
        let listening: Vec<_> = {
            let mailboxes = self
                .mailboxes
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            mailboxes.iter().filter_map(Weak::upgrade).collect()
        };
        for mailbox in listening {
            mailbox.post(change);
        }
    }
}

impl std::fmt::Debug for Notices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Notices").finish_non_exhaustive()
    }
}

/// One listener: a legacy session, or one `subscriptions/listen` request.
pub(crate) struct Mailbox {
    state: Mutex<State>,
    wake: Wake,
}

struct State {
    filter: Filter,
    pending: Pending,
}

/// What changed since the client was last told.
#[derive(Default)]
struct Pending {
    tools: bool,
    prompts: bool,
    resources: bool,
    uris: Vec<Box<str>>,
}

impl Mailbox {
    fn post(&self, change: &Change) {
        let news = {
            let State { filter, pending } = &mut *self.state();
            match change {
                Change::List(ListKind::Tools) => {
                    filter.tools && !std::mem::replace(&mut pending.tools, true)
                }
                Change::List(ListKind::Prompts) => {
                    filter.prompts && !std::mem::replace(&mut pending.prompts, true)
                }
                Change::List(ListKind::Resources) => {
                    filter.resources && !std::mem::replace(&mut pending.resources, true)
                }
                Change::Resource(uri) => {
                    let followed = filter.uris.iter().any(|followed| **followed == **uri);
                    let news = followed && !pending.uris.iter().any(|known| **known == **uri);
                    if news {
                        pending.uris.push(uri.as_str().into());
                    }
                    news
                }
            }
        };
        if news {
            (self.wake)();
        }
    }

    /// Follows one more resource, unless `most` are followed already. Following it again changes nothing.
    pub(super) fn follow(&self, uri: &str, most: usize) -> bool {
        let uris = &mut self.state().filter.uris;
        if uris.iter().any(|followed| **followed == *uri) {
            return true;
        }
        if uris.len() >= most {
            return false;
        }
        uris.push(uri.into());
        true
    }

    /// The resources it follows.
    #[cfg(feature = "http")]
    pub(super) fn uris(&self) -> Vec<Box<str>> {
        self.state().filter.uris.clone()
    }

    /// Follows these resources and no others.
    #[cfg(feature = "http")]
    pub(super) fn follow_only(&self, uris: &[Box<str>]) {
        let State { filter, pending } = &mut *self.state();
        filter.uris = uris.to_vec();
        pending.uris.retain(|uri| uris.contains(uri));
    }

    /// How many resources it follows.
    pub(super) fn followed(&self) -> usize {
        self.state().filter.uris.len()
    }

    /// Follows a resource no longer.
    pub(super) fn unfollow(&self, uri: &str) {
        let State { filter, pending } = &mut *self.state();
        filter.uris.retain(|followed| **followed != *uri);
        pending.uris.retain(|followed| **followed != *uri);
    }

    /// Writes what the client has not been told, a line each, until `out` holds `room` bytes; says whether all is told.
    ///
    /// `subscription` is the listen request that is answered; none for a legacy session.
    pub(crate) fn drain(
        &self,
        out: &mut Vec<u8>,
        room: usize,
        subscription: Option<&RequestId>,
    ) -> bool {
        let pending = &mut self.state().pending;
        let lists = [
            (&mut pending.tools, ListKind::Tools),
            (&mut pending.prompts, ListKind::Prompts),
            (&mut pending.resources, ListKind::Resources),
        ];
        for (changed, list) in lists {
            if *changed {
                if out.len() >= room {
                    return false;
                }
                *changed = false;
                out.reserve(NOTICE);
                encode::list_changed(out, list, subscription);
                out.push(b'\n');
            }
        }
        let mut told = 0;
        for uri in &pending.uris {
            if out.len() >= room {
                break;
            }
            out.reserve(NOTICE.saturating_add(uri.len()));
            encode::resource_updated(out, uri, subscription);
            out.push(b'\n');
            told += 1;
        }
        pending.uris.drain(..told);
        pending.uris.is_empty()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mailbox").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn listening(notices: &Notices, filter: Filter) -> (Arc<Mailbox>, Arc<AtomicUsize>) {
        let woken = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&woken);
        let wake: Wake = Arc::new(move || {
            count.fetch_add(1, Ordering::Relaxed);
        });
        (notices.listen(filter, wake), woken)
    }

    fn told(mailbox: &Mailbox) -> Vec<String> {
        let mut out = Vec::new();
        assert!(mailbox.drain(&mut out, usize::MAX, None));
        let lines = String::from_utf8(out).unwrap();
        lines.lines().map(str::to_owned).collect()
    }

    fn uris(uris: &[&str]) -> Filter {
        Filter {
            uris: uris.iter().map(|uri| (*uri).into()).collect(),
            ..Filter::default()
        }
    }

    #[test]
    fn many_changes_between_two_readings_are_one_notice() {
        let notices = Notices::default();
        let (mailbox, woken) = listening(
            &notices,
            Filter {
                tools: true,
                ..Filter::default()
            },
        );
        for _ in 0..1_000 {
            notices.post(&Change::List(ListKind::Tools));
        }
        assert_eq!(woken.load(Ordering::Relaxed), 1);
        assert_eq!(told(&mailbox).len(), 1);
        assert_eq!(told(&mailbox).len(), 0);
        notices.post(&Change::List(ListKind::Tools));
        assert_eq!(told(&mailbox).len(), 1);
    }

    #[test]
    fn nobody_hears_of_what_they_did_not_ask_for() {
        let notices = Notices::default();
        let (mailbox, woken) = listening(&notices, uris(&["a://a"]));
        notices.post(&Change::List(ListKind::Tools));
        notices.post(&Change::Resource("a://b".to_owned()));
        assert_eq!(woken.load(Ordering::Relaxed), 0);
        assert!(told(&mailbox).is_empty());
    }

    #[test]
    fn what_does_not_fit_is_told_later() {
        let notices = Notices::default();
        let (mailbox, _) = listening(&notices, uris(&["a://a", "a://b", "a://c"]));
        for uri in ["a://a", "a://b", "a://c"] {
            notices.post(&Change::Resource(uri.to_owned()));
        }
        let mut out = Vec::new();
        assert!(!mailbox.drain(&mut out, 1, None));
        assert_eq!(told(&mailbox).len(), 2);
    }

    #[test]
    fn following_is_bounded_and_can_be_ended() {
        let notices = Notices::default();
        let (mailbox, _) = listening(&notices, Filter::default());
        assert!(mailbox.follow("a://a", 1));
        assert!(mailbox.follow("a://a", 1));
        assert!(!mailbox.follow("a://b", 1));
        notices.post(&Change::Resource("a://a".to_owned()));
        mailbox.unfollow("a://a");
        assert!(told(&mailbox).is_empty());
        assert!(mailbox.follow("a://b", 1));
    }

    #[test]
    fn listeners_that_are_gone_are_forgotten() {
        let notices = Notices::default();
        for _ in 0..100 {
            drop(listening(&notices, Filter::default()));
        }
        assert!(notices.mailboxes.lock().unwrap().len() <= 32);
    }
}
