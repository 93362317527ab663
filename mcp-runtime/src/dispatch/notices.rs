//! Change notices: who listens, and what each has not been told yet.
//!
//! A listener is a [`Mailbox`] that remembers *what* changed, not how often: changes that come faster than its client
//! reads become one notice, nothing is lost, and memory is bounded by what the client follows. Whoever writes to the
//! client empties it; the mailbox only wakes the writer.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::context::Change;
use crate::jsonrpc::RequestId;
use crate::protocol::encode::{self, Filter, ListKind};

/// Wakes whoever writes to a client.
pub(crate) type Wake = Arc<dyn Fn() + Send + Sync>;

/// Everybody who listens.
#[derive(Default)]
pub(crate) struct Notices {
    mailboxes: Mutex<Vec<Weak<Mailbox>>>,
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
        mailboxes.retain(|mailbox| mailbox.strong_count() > 0);
        mailboxes.push(Arc::downgrade(&mailbox));
        mailbox
    }

    /// Tells everybody whom it concerns.
    pub(crate) fn post(&self, change: &Change) {
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
                encode::list_changed(out, list, subscription);
                out.push(b'\n');
            }
        }
        let mut told = 0;
        for uri in &pending.uris {
            if out.len() >= room {
                break;
            }
            encode::resource_updated(out, uri, subscription);
            out.push(b'\n');
            told += 1;
        }
        pending.uris.drain(..told);
        pending.uris.is_empty()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mailbox").finish_non_exhaustive()
    }
}
