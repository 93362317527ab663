//! A handler's runs in a call or round. Middleware may run the handler again after a failure. The handler then receives
//! the same client answers and `once` results again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};

use serde_json::value::RawValue;

use crate::context::QuestionKey;
use crate::dispatch::journal::Journal;
use crate::lock::lock;

/// The runs of a handler.
#[derive(Default)]
pub(super) struct HandlerRuns {
    state: Mutex<RunsState>,
}

#[derive(Default)]
struct RunsState {
    /// `None` until the call first asks a question or uses `once`.
    uses: Option<Box<QuestionUses>>,
    /// `true` once the first run has begun. A call never begins a run if its handler is not wrapped.
    has_begun: bool,
    /// The questions and `once` names that middleware used before the first run.
    before_first: Option<Box<QuestionUses>>,
    /// Number of runs that have not ended.
    running: usize,
    /// Answers and results for further runs, unless the round's journal contains them.
    kept: Option<Box<Journal>>,
}

/// The questions and `once` names used in this run of the handler.
#[derive(Clone, Default)]
struct QuestionUses {
    /// Number of times each digest or name has been used.
    asked: BTreeMap<String, u32>,
    once: BTreeSet<String>,
}

impl HandlerRuns {
    /// Begins a run. Keys and `once` names start again from the beginning, so they match those in the previous run,
    /// unless that run is still in progress.
    pub(super) fn begin(&self) {
        let state = &mut *self.state();
        if !state.has_begun {
            state.has_begun = true;
            state.before_first.clone_from(&state.uses);
        } else if state.running == 0 {
            state.uses.clone_from(&state.before_first);
        }
        state.running = state.running.saturating_add(1);
    }

    /// Returns `true` once the first run of a wrapped handler has begun.
    pub(super) fn has_begun(&self) -> bool {
        self.state().has_begun
    }

    pub(super) fn end(&self) {
        let state = &mut *self.state();
        state.running = state.running.saturating_sub(1);
    }

    /// Returns the key for this digest or name. From the second use onward, a number is appended.
    pub(super) fn numbered_key(&self, name: &str) -> String {
        let mut state = self.state();
        let asked = &mut state.uses.get_or_insert_default().asked;
        let count = asked.entry(name.to_owned()).or_default();
        *count = count.saturating_add(1);
        match *count {
            1 => name.to_owned(),
            count => format!("{name}.{count}"),
        }
    }

    /// Records the use of a `once` name. Returns `false` if this run has used it before.
    pub(super) fn use_once(&self, name: &str) -> bool {
        let mut state = self.state();
        let uses = state.uses.get_or_insert_default();
        uses.once.insert(name.to_owned())
    }

    /// Returns the answer that an earlier run received.
    pub(super) fn answer(&self, question: &QuestionKey) -> Option<Box<str>> {
        let state = self.state();
        state.kept.as_ref()?.answer(question).map(Into::into)
    }

    /// Keeps an answer for further runs.
    pub(super) fn keep_answer(&self, question: &QuestionKey, answer: &str) {
        self.keep(|journal| {
            if let Ok(answer) = RawValue::from_string(answer.to_owned()) {
                let digest = question.named.then(|| question.digest.clone());
                journal.add_answer(question.key.clone(), digest, answer);
            }
        });
    }

    /// Rejects an answer if answers are kept. Like [`Journal::reject_answer`], returns `true` if the question is asked
    /// again.
    pub(super) fn reject_answer(&self, key: &str, max: u32) -> Option<bool> {
        self.keep(|journal| journal.reject_answer(key, max))
    }

    /// Returns the result of the `once` call with this name in an earlier run.
    pub(super) fn once_result(&self, name: &str) -> Option<Box<str>> {
        let state = self.state();
        state.kept.as_ref()?.once_result(name).map(Into::into)
    }

    /// Keeps the result of the `once` call with this name for further runs.
    pub(super) fn keep_once_result(&self, name: &str, result: &str) {
        self.keep(|journal| journal.set_once_result(name, result));
    }

    /// Keeps data for further runs. Does nothing if the handler is not wrapped, because only a wrapped handler runs
    /// again.
    fn keep<T>(&self, change: impl FnOnce(&mut Journal) -> T) -> Option<T> {
        let state = &mut *self.state();
        state
            .has_begun
            .then(|| change(state.kept.get_or_insert_default()))
    }

    fn state(&self) -> MutexGuard<'_, RunsState> {
        lock(&self.state)
    }
}
