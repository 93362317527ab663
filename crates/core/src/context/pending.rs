//! A legacy session's unanswered questions (elicitation, sampling, roots), which are requests whose ids the server
//! assigns.
//!
//! This module only holds data and does not run tasks: the channel passes in answers, calls poll for their answers, and
//! the client is notified of withdrawn questions when the session's messages are drained. Questions are held back until
//! the client has been initialized.
//!
//! Specification: `docs/requirements.md`, section 2.21, and LIFE-04.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::task::{Poll, Waker};

use serde::Deserialize;

use crate::jsonrpc::{RequestId, read_json};
use crate::protocol::encode;
use crate::sync::{Wake, lock};

/// Maximum number of cancellation notifications that can be queued. Further notifications are dropped, because they
/// would not make a difference to a client that is so far behind.
const MOST_WITHDRAWN: usize = 1_024;

/// A session's open questions.
pub(crate) struct PendingQuestions {
    table: Mutex<QuestionTable>,
    wake: Wake,
}

#[derive(Default)]
struct QuestionTable {
    /// `true` once the client has reported that it is initialized. Questions are not sent before that.
    ready: bool,
    last: u64,
    open: HashMap<u64, QuestionSlot>,
    withdrawn: Vec<u64>,
    closed: bool,
}

enum QuestionSlot {
    /// The question has not been sent yet.
    Held(Waker),
    Waiting(Waker),
    Answered(ClientReply),
}

/// The client's answer: a result as JSON text, or an error.
pub(crate) type ClientReply = Result<Box<str>, ClientError>;

/// An error returned by the client.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default)]
pub(crate) struct ClientError {
    pub(crate) code: i64,
    pub(crate) message: String,
}

impl PendingQuestions {
    pub(crate) fn new(wake: Wake) -> Self {
        Self {
            table: Mutex::default(),
            wake,
        }
    }

    /// Starts numbering questions at a random value, so that an answer that arrives late or at the wrong server
    /// instance does not match a different question.
    pub(crate) fn numbered_from_random(self) -> Self {
        // The value remains far below the largest integer that a JSON number can represent exactly.
        self.table().last = u64::from_ne_bytes(crate::random::random()) >> 16;
        self
    }

    /// Continues numbering questions after this value.
    pub(crate) fn number_from(&self, last: u64) {
        self.table().last = last;
    }

    /// Marks the client as initialized and wakes the calls whose questions have been held back.
    pub(crate) fn set_ready(&self) {
        let mut table = self.table();
        table.ready = true;
        let held = table.open.values().filter_map(|slot| match slot {
            QuestionSlot::Held(waker) => Some(waker.clone()),
            QuestionSlot::Waiting(_) | QuestionSlot::Answered(_) => None,
        });
        let held: Vec<Waker> = held.collect();
        drop(table);
        held.into_iter().for_each(Waker::wake);
    }

    /// Opens a question and returns its id, or `None` if the session has ended. The question is initially held back.
    pub(crate) fn open(&self, waker: &Waker) -> Option<u64> {
        let mut table = self.table();
        if table.closed {
            return None;
        }
        table.last = table.last.checked_add(1)?;
        let id = table.last;
        table.open.insert(id, QuestionSlot::Held(waker.clone()));
        Some(id)
    }

    /// Returns `true` exactly once, when a question that was held back may be sent.
    pub(crate) fn release(&self, id: u64) -> bool {
        let QuestionTable { ready, open, .. } = &mut *self.table();
        if *ready
            && let Some(slot) = open.get_mut(&id)
            && let QuestionSlot::Held(waker) = slot
        {
            *slot = QuestionSlot::Waiting(waker.clone());
            return true;
        }
        false
    }

    /// Takes the answer to a question if it has arrived. Returns `None` if no answer will arrive.
    pub(crate) fn poll(&self, id: u64, waker: &Waker) -> Poll<Option<ClientReply>> {
        let mut table = self.table();
        match table.open.get_mut(&id) {
            Some(QuestionSlot::Held(before) | QuestionSlot::Waiting(before)) => {
                before.clone_from(waker);
                Poll::Pending
            }
            Some(QuestionSlot::Answered(_)) => match table.open.remove(&id) {
                Some(QuestionSlot::Answered(reply)) => Poll::Ready(Some(reply)),
                _ => Poll::Ready(None),
            },
            None => Poll::Ready(None),
        }
    }

    /// Records an answer from the client. Duplicate answers and answers for which no call is waiting are ignored.
    pub(crate) fn answer(&self, id: &RequestId, result: Option<&str>, error: Option<&str>) {
        let mut table = self.table();
        let slot = id
            .as_json()
            .parse()
            .ok()
            .and_then(|id: u64| table.open.get_mut(&id));
        let Some(slot @ QuestionSlot::Waiting(_)) = slot else {
            tracing::debug!("ignored a response that matches no open request");
            return;
        };
        let reply = match result {
            Some(result) => Ok(result.into()),
            None => Err(error
                .and_then(|error| read_json(error).ok())
                .unwrap_or_default()),
        };
        let before = std::mem::replace(slot, QuestionSlot::Answered(reply));
        drop(table);
        if let QuestionSlot::Waiting(waker) = before {
            waker.wake();
        }
    }

    /// Withdraws a question whose answer is no longer needed. The client is notified if the question has been sent but
    /// not answered.
    pub(crate) fn withdraw(&self, id: u64) {
        let mut table = self.table();
        let (waker, was_asked) = match table.open.remove(&id) {
            Some(QuestionSlot::Held(waker)) => (waker, false),
            Some(QuestionSlot::Waiting(waker)) => (waker, true),
            Some(QuestionSlot::Answered(_)) | None => return,
        };
        if was_asked && table.withdrawn.len() < MOST_WITHDRAWN {
            table.withdrawn.push(id);
        }
        drop(table);
        // This wakes any call that is still polling for the answer so that it learns that no answer will arrive.
        waker.wake();
        if was_asked {
            (self.wake)();
        }
    }

    /// Writes the pending cancellation notifications, one on each line, until `out` holds `room` bytes. Returns `true`
    /// if no notifications are left.
    pub(crate) fn drain(&self, out: &mut Vec<u8>, room: usize) -> bool {
        let mut table = self.table();
        while out.len() < room
            && let Some(id) = table.withdrawn.pop()
        {
            encode::cancelled(out, &wire_id(id), "the answer is no longer needed");
            out.push(b'\n');
        }
        table.withdrawn.is_empty()
    }

    /// Closes all questions and wakes the calls that are waiting for answers. Called when the client has disconnected
    /// or the server will not ask any more questions. An answer that has arrived is still there for its call.
    pub(crate) fn close(&self) {
        let mut table = self.table();
        table.closed = true;
        let mut wakers = Vec::new();
        table.open.retain(|_, slot| match slot {
            QuestionSlot::Answered(_) => true,
            QuestionSlot::Held(waker) | QuestionSlot::Waiting(waker) => {
                wakers.push(waker.clone());
                false
            }
        });
        drop(table);
        wakers.into_iter().for_each(Waker::wake);
    }

    fn table(&self) -> MutexGuard<'_, QuestionTable> {
        lock(&self.table)
    }
}

/// Returns the id as sent on the wire.
pub(crate) fn wire_id(id: u64) -> RequestId {
    RequestId::from_valid(&id.to_string())
}

impl std::fmt::Debug for PendingQuestions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PendingQuestions")
            .field("open", &self.table().open.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake as Woken;

    use crate::context::pending::*;

    /// Returns the pending questions for an initialized client.
    fn pending() -> PendingQuestions {
        let pending = PendingQuestions::new(Arc::new(|| {}));
        pending.set_ready();
        pending
    }

    /// Opens a question and marks it as sent.
    fn ask(pending: &PendingQuestions) -> u64 {
        let id = pending.open(Waker::noop()).unwrap();
        assert!(pending.release(id) && !pending.release(id));
        id
    }

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Woken for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    // Covers: LIFE-04
    #[test]
    fn requests_before_initialization_are_held_back_and_sent_once() {
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        let pending = PendingQuestions::new(Arc::new(|| {}));
        let (one, two) = (pending.open(&waker).unwrap(), pending.open(&waker).unwrap());
        assert!(!pending.release(one));
        // A question that has not been sent can be neither answered nor cancelled.
        pending.answer(&wire_id(one), Some("{}"), None);
        assert!(pending.poll(one, &waker).is_pending());
        pending.withdraw(two);
        assert!(pending.drain(&mut Vec::new(), 1));
        let before = count.0.load(Ordering::SeqCst);
        pending.set_ready();
        assert_eq!(count.0.load(Ordering::SeqCst), before + 1);
        assert!(pending.release(one) && !pending.release(one) && !pending.release(two));
    }

    #[test]
    fn a_response_is_accepted_once_and_only_for_an_open_request() {
        let pending = pending();
        let waker = Waker::noop();
        let id = ask(&pending);
        assert!(pending.poll(id, waker).is_pending());
        for foreign in ["7", "\"1\"", "-1", "1.0", "18446744073709551616"] {
            pending.answer(&RequestId::from_valid(foreign), Some("{}"), None);
        }
        assert!(pending.poll(id, waker).is_pending());
        pending.answer(&wire_id(id), Some("{\"a\":1}"), None);
        pending.answer(&wire_id(id), Some("{\"a\":2}"), None);
        assert_eq!(
            pending.poll(id, waker),
            Poll::Ready(Some(Ok("{\"a\":1}".into())))
        );
        assert_eq!(pending.poll(id, waker), Poll::Ready(None));
    }

    #[test]
    fn a_malformed_error_response_is_still_an_error() {
        let pending = pending();
        let waker = Waker::noop();
        for (error, expected) in [
            (r#"{"code":-1,"message":"no"}"#, (-1, "no")),
            ("{}", (0, "")),
            ("5", (0, "")),
            ("null", (0, "")),
        ] {
            let id = ask(&pending);
            pending.answer(&wire_id(id), None, Some(error));
            let Poll::Ready(Some(Err(error))) = pending.poll(id, waker) else {
                panic!("no error")
            };
            assert_eq!((error.code, error.message.as_str()), expected);
        }
    }

    #[test]
    fn a_withdrawn_request_is_cancelled_once_unless_it_was_answered() {
        let pending = pending();
        let (one, two) = (ask(&pending), ask(&pending));
        pending.answer(&wire_id(two), Some("{}"), None);
        pending.withdraw(one);
        pending.withdraw(one);
        pending.withdraw(two);
        let mut out = Vec::new();
        assert!(!pending.drain(&mut out, 0));
        assert!(pending.drain(&mut out, 1_000));
        assert!(pending.drain(&mut out, 1_000));
        let told = String::from_utf8(out).unwrap();
        assert_eq!(told.lines().count(), 1);
        assert!(told.contains("\"requestId\":1,"), "{told}");
    }

    #[test]
    fn the_end_of_a_session_ends_its_open_requests() {
        let pending = pending();
        let waker = Waker::noop();
        let id = ask(&pending);
        pending.close();
        assert_eq!(pending.poll(id, waker), Poll::Ready(None));
        assert_eq!(pending.open(waker), None);
    }

    #[test]
    fn an_answer_that_arrived_before_the_end_of_a_session_reaches_its_call() {
        let pending = pending();
        let id = ask(&pending);
        pending.answer(&wire_id(id), Some("{}"), None);
        pending.close();
        let answer = pending.poll(id, Waker::noop());
        assert_eq!(answer, Poll::Ready(Some(Ok("{}".into()))));
        assert_eq!(pending.poll(id, Waker::noop()), Poll::Ready(None));
    }
}
