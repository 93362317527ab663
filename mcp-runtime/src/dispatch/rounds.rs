//! A single round of a modern call. In each round, the handler runs from the beginning with the answers received so far
//! until it needs an answer that has not arrived yet.
//!
//! A round ends when the handler is pending, at least one question is open, and no `once` block is running. Ending the
//! round while a `once` block is running would abort the block and run it again later. All other work in progress is
//! dropped and repeated in the next round.

use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context as TaskContext, Poll, Waker};

use serde_json::Value;

use crate::context::{
    AskError, CallId, CallQuestion, DetachedQuestion, OnceClaim, OnceStore, OnceWork, QuestionKey,
    QuestionProgress, StoreFuture,
};
use crate::dispatch::journal::{InputResponses, Journal};
use crate::handler::background::OwnSteps;
use crate::handler::handler_error::HandlerError;
use crate::lock::lock;
use crate::protocol::{ProtocolVersion, input};
use crate::random;
use crate::types::InputRequest;

/// A round in progress.
pub(super) struct Round {
    state: Mutex<RoundState>,
    /// The arguments as received, to which the sealed state is bound.
    arguments: Box<str>,
    /// The call's own store for `once` results, if it has one.
    steps: Option<OwnSteps>,
}

struct RoundState {
    /// `None` until the call asks its first question or uses `once`.
    memory: Option<Box<CallMemory>>,
    open: Vec<OpenQuestion>,
    once_under_way: usize,
    over: bool,
    /// `true` if the client gets the call's state, with which it can continue the call.
    has_ended: bool,
    /// The journal and questions of a run that was separate from the request, with which this round ends.
    adopted: Option<Box<(Journal, Vec<SentQuestion>)>>,
}

/// The state from which a call resumes.
#[derive(Default)]
pub(super) struct CallMemory {
    /// The record of earlier rounds.
    pub(super) journal: Journal,
    /// Answers that arrived without a state, which are used if this run asks the matching questions.
    pub(super) loose: InputResponses,
}

/// An unanswered question.
struct OpenQuestion {
    asked: SentQuestion,
    waker: Waker,
}

/// A question as sent to the client.
pub(super) struct SentQuestion {
    pub(super) identity: QuestionKey,
    pub(super) method: &'static str,
    pub(super) params: Value,
}

/// Returns an id for a question that needs an id in this protocol version.
fn elicitation_id(question: &CallQuestion, version: ProtocolVersion) -> String {
    match question.request {
        InputRequest::Url { .. } if !version.is_modern() => random::random_id::<16>(),
        _ => String::new(),
    }
}

/// The result of a completed round.
pub(super) struct RoundEnd {
    pub(super) journal: Journal,
    pub(super) open: Vec<SentQuestion>,
    pub(super) arguments: Box<str>,
}

impl RoundEnd {
    /// Fails if a call has asked the client questions in more than `max` rounds.
    pub(super) fn check_rounds(&self, max: u16) -> Result<(), HandlerError> {
        if self.journal.round <= max {
            return Ok(());
        }
        Err(HandlerError::exposed(format_args!(
            "asked the client {max} times in a row without finishing"
        )))
    }
}

/// Indicates that the maximum number of open questions has been exceeded.
pub(super) struct TooManyQuestions;

impl RoundState {
    fn memory(&mut self) -> &mut CallMemory {
        self.memory.get_or_insert_default()
    }
}

impl Round {
    pub(super) fn new(memory: Option<Box<CallMemory>>, arguments: &str) -> Self {
        Self {
            state: Mutex::new(RoundState {
                memory,
                open: Vec::new(),
                once_under_way: 0,
                over: false,
                has_ended: false,
                adopted: None,
            }),
            arguments: arguments.into(),
            steps: None,
        }
    }

    /// Sets the call's own store for `once` results.
    pub(super) fn with_steps(mut self, steps: Option<OwnSteps>) -> Self {
        self.steps = steps;
        self
    }

    /// Returns the store in which the next `once` result belongs: the call's own, the server's, or both.
    pub(super) fn once_store(
        &self,
        of_server: Option<&Arc<dyn OnceStore>>,
    ) -> Option<Arc<dyn OnceStore>> {
        match (&self.steps, of_server) {
            (Some(own), Some(of_server)) if !own.suffice() => {
                Some(Arc::new(BothStores::new(&own.store, of_server)))
            }
            (Some(own), _) => Some(Arc::clone(&own.store)),
            (None, of_server) => of_server.cloned(),
        }
    }

    /// Returns the call's journal so far, in case the call continues elsewhere.
    pub(super) fn journal(&self, call: CallId) -> Journal {
        let state = self.state();
        let memory = state.memory.as_ref();
        let journal = memory.map(|memory| memory.journal.clone());
        journal.unwrap_or_default().with_call(call)
    }

    /// Returns the call's id, or `None` in its first round.
    pub(super) fn call_id(&self) -> Option<CallId> {
        self.state().memory.as_ref()?.journal.call_id()
    }

    /// Returns the answer to a question, or adds the question to the open questions.
    pub(super) fn poll(
        &self,
        question: &mut CallQuestion,
        version: ProtocolVersion,
        most: usize,
        task: &TaskContext<'_>,
    ) -> Poll<Result<Result<Box<str>, AskError>, TooManyQuestions>> {
        let state = &mut *self.state();
        if state.over {
            return Poll::Ready(Ok(Err(AskError::Gone)));
        }
        let identity = &question.identity;
        let CallMemory { journal, loose } = state.memory.get_or_insert_default().as_mut();
        if journal.answer(identity).is_none()
            && let Some(answer) = loose.remove(&identity.key)
        {
            journal.add_answer(identity, answer.get());
        }
        if let Some(answer) = journal.answer(identity) {
            question.progress = QuestionProgress::Over;
            return Poll::Ready(Ok(Ok(answer.into())));
        }
        if let Some((code, message)) = journal.failure(&identity.key) {
            question.progress = QuestionProgress::Over;
            return Poll::Ready(Ok(Err(AskError::Failed { code, message })));
        }
        let waker = task.waker().clone();
        let mut open = state.open.iter_mut();
        if let Some(open) = open.find(|open| open.asked.identity.key == identity.key) {
            if open.asked.identity.digest != identity.digest {
                let text = format!("two questions have the key `{}`", identity.key);
                return Poll::Ready(Ok(Err(AskError::Misused(text))));
            }
            open.waker = waker;
        } else if state.open.len() >= most {
            return Poll::Ready(Err(TooManyQuestions));
        } else {
            let asked = SentQuestion {
                identity: identity.clone(),
                method: input::method(&question.request),
                params: input::params(
                    &question.request,
                    version,
                    &elicitation_id(question, version),
                ),
            };
            state.open.push(OpenQuestion { asked, waker });
        }
        question.progress = QuestionProgress::Open;
        Poll::Pending
    }

    /// Rejects an invalid answer. Returns `true`, and the question is asked again, until `max` answers have been
    /// rejected.
    pub(super) fn reject_answer(&self, key: &str, max: u32) -> bool {
        self.state().memory().journal.reject_answer(key, max)
    }

    /// Withdraws a question that this run of the handler no longer asks.
    pub(super) fn withdraw(&self, key: &str) {
        let mut state = self.state();
        if !state.over {
            state.open.retain(|open| open.asked.identity.key != key);
        }
    }

    /// Returns the result if the `once` block finished in an earlier round. Otherwise, marks the block as running.
    pub(super) fn begin_once(&self, name: &str) -> Option<Box<str>> {
        let mut state = self.state();
        let done = state.memory().journal.once_result(name).map(Into::into);
        if done.is_none() {
            state.once_under_way = state.once_under_way.saturating_add(1);
        }
        done
    }

    pub(super) fn end_once(&self, name: &str, result: Option<&str>) {
        let mut state = self.state();
        state.once_under_way = state.once_under_way.saturating_sub(1);
        if let Some(result) = result {
            state.memory().journal.set_once_result(name, result);
        }
    }

    /// Returns `true` if the round has ended with questions, so that its client can continue the call.
    pub(super) fn has_ended(&self) -> bool {
        self.state().has_ended
    }

    /// Returns `true` while a `once` block is running.
    pub(super) fn is_once_under_way(&self) -> bool {
        self.state().once_under_way > 0
    }

    /// Lets the round end with the questions and the journal of a run that was separate from the request. Returns
    /// `false` if the journal cannot be read.
    pub(super) fn adopt(&self, journal: &str, questions: Vec<DetachedQuestion>) -> bool {
        let Some(journal) = Journal::from_json(journal.as_bytes()) else {
            return false;
        };
        let questions = questions
            .into_iter()
            .map(|(key, method, params)| SentQuestion {
                identity: QuestionKey {
                    key,
                    digest: String::new(),
                    named: false,
                },
                method,
                params,
            });
        self.state().adopted = Some(Box::new((journal, questions.collect())));
        true
    }

    /// Ends the round if possible and returns its result.
    pub(super) fn try_end(&self, call: impl FnOnce() -> CallId) -> Option<Box<RoundEnd>> {
        let state = &mut *self.state();
        if let Some(adopted) = state.adopted.take() {
            let (journal, open) = *adopted;
            state.over = true;
            state.has_ended = true;
            return Some(Box::new(RoundEnd {
                journal,
                open,
                arguments: self.arguments.clone(),
            }));
        }
        if state.over || state.open.is_empty() || state.once_under_way > 0 {
            return None;
        }
        state.over = true;
        state.has_ended = true;
        let mut journal = std::mem::take(&mut state.memory().journal);
        journal.end_round(call(), state.open.iter().map(|open| &open.asked.identity));
        Some(Box::new(RoundEnd {
            journal,
            // The wakers are kept for futures that are polled elsewhere.
            open: state
                .open
                .iter_mut()
                .map(|open| SentQuestion {
                    identity: open.asked.identity.clone(),
                    method: open.asked.method,
                    params: std::mem::take(&mut open.asked.params),
                })
                .collect(),
            arguments: self.arguments.clone(),
        }))
    }

    /// Closes all questions. No further questions can be asked.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.over = true;
        let open = std::mem::take(&mut state.open);
        drop(state);
        for open in open {
            open.waker.wake();
        }
    }

    fn state(&self) -> MutexGuard<'_, RoundState> {
        lock(&self.state)
    }
}

// Two stores for `once` results: the call's own store lets the call continue where it left off, and the server's store
// prevents another call from doing the same work.

/// Grants work only if both of its stores grant it.
pub(super) struct BothStores {
    own: Arc<dyn OnceStore>,
    of_server: Arc<dyn OnceStore>,
}

impl BothStores {
    pub(super) fn new(own: &Arc<dyn OnceStore>, of_server: &Arc<dyn OnceStore>) -> Self {
        let (own, of_server) = (Arc::clone(own), Arc::clone(of_server));
        Self { own, of_server }
    }
}

impl OnceStore for BothStores {
    fn begin<'a>(&'a self, work: OnceWork<'a>) -> StoreFuture<'a, OnceClaim> {
        Box::pin(async move {
            let own = self.own.begin(work).await?;
            if own != OnceClaim::Granted {
                return Ok(own);
            }
            let claim = self.of_server.begin(work).await?;
            match &claim {
                OnceClaim::Granted => {}
                OnceClaim::Done(result) => self.own.complete(work, result).await?,
                OnceClaim::Taken(_) | OnceClaim::CallerFull | OnceClaim::Full => {
                    self.own.abandon(work).await?;
                }
            }
            Ok(claim)
        })
    }

    fn complete<'a>(&'a self, work: OnceWork<'a>, result: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            self.own.complete(work, result).await?;
            self.of_server.complete(work, result).await
        })
    }

    fn abandon<'a>(&'a self, work: OnceWork<'a>) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            self.of_server.abandon(work).await?;
            self.own.abandon(work).await
        })
    }

    fn end(&self, call: CallId) -> StoreFuture<'_, ()> {
        self.of_server.end(call)
    }
}

#[cfg(test)]
mod both_stores_tests {
    use std::time::Duration;

    use super::*;
    use crate::context::{ClaimId, OnceKind};
    use crate::stores::MemoryOnceStore;

    #[tokio::test]
    async fn a_second_call_for_the_same_work_is_not_granted() {
        let of_server: Arc<dyn OnceStore> = Arc::new(MemoryOnceStore::default());
        let store = || {
            let own: Arc<dyn OnceStore> = Arc::new(MemoryOnceStore::default());
            BothStores::new(&own, &of_server)
        };
        let work = |claim, name| OnceWork {
            call: CallId([7; 16]),
            name,
            claim: ClaimId([claim; 16]),
            owner: "",
            kind: OnceKind::STEP,
            note: "",
            kept: Duration::from_hours(24),
        };
        let (first, second) = (store(), store());
        let (pay, again) = (work(1, "pay"), work(2, "pay"));
        assert_eq!(first.begin(pay).await.unwrap(), OnceClaim::Granted);
        let taken = OnceClaim::Taken(String::new());
        assert_eq!(second.begin(again).await.unwrap(), taken);
        first.complete(pay, "1").await.unwrap();
        let done = OnceClaim::Done("1".to_owned());
        // The first result comes from the call's own store, the second from the server's.
        assert_eq!(first.begin(pay).await.unwrap(), done);
        assert_eq!(second.begin(again).await.unwrap(), done);
        let mail = work(1, "mail");
        assert_eq!(first.begin(mail).await.unwrap(), OnceClaim::Granted);
        first.abandon(mail).await.unwrap();
        let mail = second.begin(work(2, "mail")).await.unwrap();
        assert_eq!(mail, OnceClaim::Granted);
    }
}
