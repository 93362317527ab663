//! One round of a modern call: the handler runs from its start with the answers so far, until it needs one that is not
//! there.
//!
//! A round ends when the handler is pending, at least one question is open, and nothing that is done once is under way:
//! ending earlier would cut that off and do it again. What else is under way is dropped, and done again in the next round.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context as TaskContext, Poll, Waker};

use serde_json::Value;

use crate::context::{AskError, Asked, CallId, Place, Question};
use crate::dispatch::journal::{Journal, Responses};
use crate::protocol::{ProtocolVersion, input};

/// One round.
pub(super) struct Round {
    state: Mutex<State>,
    /// The arguments as they came, which the state is bound to.
    arguments: Box<str>,
}

struct State {
    /// Nothing, until something is asked or done once.
    memory: Option<Box<Memory>>,
    open: Vec<Open>,
    once_under_way: usize,
    over: bool,
}

/// What a call goes on with.
#[derive(Default)]
pub(super) struct Memory {
    /// What it remembers of earlier rounds.
    pub(super) journal: Journal,
    /// Answers that came without any state: taken if this run asks for them.
    pub(super) loose: Responses,
}

/// A question without an answer.
struct Open {
    asked: InputRequired,
    waker: Waker,
}

/// A question as the client is asked it.
pub(super) struct InputRequired {
    pub(super) place: Place,
    pub(super) method: &'static str,
    pub(super) params: Value,
}

/// What a round ends with.
pub(super) struct RoundEnd {
    pub(super) journal: Journal,
    pub(super) open: Vec<InputRequired>,
    pub(super) arguments: Box<str>,
}

/// More questions are open than may be.
pub(super) struct TooMany;

impl State {
    fn memory(&mut self) -> &mut Memory {
        self.memory.get_or_insert_default()
    }
}

impl Round {
    pub(super) fn new(memory: Option<Box<Memory>>, arguments: &str) -> Self {
        Self {
            state: Mutex::new(State {
                memory,
                open: Vec::new(),
                once_under_way: 0,
                over: false,
            }),
            arguments: arguments.into(),
        }
    }

    /// Which call it is, if it is not the first round.
    pub(super) fn call(&self) -> Option<CallId> {
        self.state().memory.as_ref()?.journal.call()
    }

    /// The answer to a question, or one more that is open.
    pub(super) fn poll(
        &self,
        question: &mut Question,
        version: ProtocolVersion,
        most: usize,
        task: &TaskContext<'_>,
    ) -> Poll<Result<Result<Box<str>, AskError>, TooMany>> {
        let state = &mut *self.state();
        if state.over {
            return Poll::Ready(Ok(Err(AskError::Gone)));
        }
        let place = &question.place;
        let Memory { journal, loose } = state.memory.get_or_insert_default().as_mut();
        if journal.answer(place).is_none()
            && let Some(answer) = loose.remove(&place.key)
        {
            let digest = place.named.then(|| place.digest.clone());
            journal.take(place.key.clone(), digest, answer);
        }
        if let Some(answer) = journal.answer(place) {
            question.progress = Asked::Over;
            return Poll::Ready(Ok(Ok(answer.into())));
        }
        let waker = task.waker().clone();
        let mut open = state.open.iter_mut();
        if let Some(open) = open.find(|open| open.asked.place.key == place.key) {
            if open.asked.place.digest != place.digest {
                let text = format!("two questions have the key `{}`", place.key);
                return Poll::Ready(Ok(Err(AskError::Misused(text))));
            }
            open.waker = waker;
        } else if state.open.len() >= most {
            return Poll::Ready(Err(TooMany));
        } else {
            let asked = InputRequired {
                place: place.clone(),
                method: input::method(&question.request),
                params: input::params(&question.request, version, ""),
            };
            state.open.push(Open { asked, waker });
        }
        question.progress = Asked::Open;
        Poll::Pending
    }

    /// An answer does not fit; says whether it is asked for again, which it is until that many did not.
    pub(super) fn reject(&self, key: &str, most: u32) -> bool {
        self.state().memory().journal.reject(key, most)
    }

    /// A question is not asked any more, in the same run.
    pub(super) fn withdraw(&self, key: &str) {
        let mut state = self.state();
        if !state.over {
            state.open.retain(|open| open.asked.place.key != key);
        }
    }

    /// Gives the result if it was done in an earlier round; otherwise it is under way now.
    pub(super) fn begin_once(&self, name: &str) -> Option<Box<str>> {
        let mut state = self.state();
        let done = state.memory().journal.done(name).map(Into::into);
        if done.is_none() {
            state.once_under_way = state.once_under_way.saturating_add(1);
        }
        done
    }

    pub(super) fn end_once(&self, name: &str, result: Option<&str>) {
        let mut state = self.state();
        state.once_under_way = state.once_under_way.saturating_sub(1);
        if let Some(result) = result {
            state.memory().journal.set_done(name, result);
        }
    }

    /// What the round ends with, if it ends now.
    pub(super) fn end(&self, call: impl FnOnce() -> CallId) -> Option<RoundEnd> {
        let state = &mut *self.state();
        if state.over || state.open.is_empty() || state.once_under_way > 0 {
            return None;
        }
        state.over = true;
        let mut journal = std::mem::take(&mut state.memory().journal);
        journal.end_round(call(), state.open.iter().map(|open| &open.asked.place));
        Some(RoundEnd {
            journal,
            // The wakers stay, for those who poll from elsewhere.
            open: state
                .open
                .iter_mut()
                .map(|open| InputRequired {
                    place: open.asked.place.clone(),
                    method: open.asked.method,
                    params: std::mem::take(&mut open.asked.params),
                })
                .collect(),
            arguments: self.arguments.clone(),
        })
    }

    /// Nothing is asked any more.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.over = true;
        let open = std::mem::take(&mut state.open);
        drop(state);
        for open in open {
            open.waker.wake();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
