//! A call's questions to its client, and the two ways of delivering them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::task::{Context as TaskContext, Poll};

use crate::context::outbound::Sink;
use crate::context::pending::{PendingQuestions, wire_id};
use crate::context::question::{is_inside_commit, is_inside_once};
use crate::context::rounds::{Journal, Round, RoundEnd};
use crate::context::{
    AskError, CallId, CallQuestion, OnceStore, QuestionKey, QuestionParts, QuestionProgress,
};
use crate::host::{Work, sleep};
use crate::limits::ElicitationLimits;
use crate::protocol::{ProtocolVersion, encode, errors, input, negotiation};
use crate::sync::{Bell, lock};
use crate::types::{ClientCapabilities, ClientFeature, InputRequest};
use crate::{random, seal};

/// Maximum number of times to send the same form if the client's answers are invalid, across all rounds of a call.
const MAX_FORM_TRIES: u32 = 3;

/// What the questions of all calls to a server have in common.
pub(crate) struct QuestionSettings {
    pub(crate) limits: ElicitationLimits,
    /// The store for results of `once`, in addition to each call's own journal.
    pub(crate) once_store: Option<Arc<dyn OnceStore>>,
    /// Runs work of the server in the background.
    pub(crate) spawn: Box<dyn Fn(Work) + Send + Sync>,
}

/// A call's questions to its client, and what is done once in all of its runs.
pub struct ClientQuestions {
    settings: Arc<QuestionSettings>,
    version: ProtocolVersion,
    capabilities: Arc<ClientCapabilities>,
    call: OnceLock<CallId>,
    runs: HandlerRuns,
    delivery: QuestionDelivery,
    /// `true` if the server's store has steps of this call, which no earlier round has begun.
    has_new_steps: AtomicBool,
    /// Wakes the task that polls the call. This is necessary because another task may be polling a question.
    caller: Bell,
}

/// The way in which questions are delivered to the client.
pub(crate) enum QuestionDelivery {
    /// Questions are not delivered, because handlers for this method cannot ask questions.
    None,
    /// Questions are sent as requests from the server.
    Requests {
        pending: Arc<PendingQuestions>,
        sink: Arc<dyn Sink>,
        /// The ids of this call's unanswered requests.
        waiting: Mutex<Vec<u64>>,
    },
    /// Questions are returned in the result that ends a round.
    Rounds(Round),
}

impl ClientQuestions {
    pub(crate) fn new(
        settings: &Arc<QuestionSettings>,
        version: ProtocolVersion,
        capabilities: Arc<ClientCapabilities>,
        delivery: QuestionDelivery,
    ) -> Self {
        let call = OnceLock::new();
        if let QuestionDelivery::Rounds(round) = &delivery
            && let Some(id) = round.call_id()
        {
            let _ = call.set(id);
        }
        Self {
            settings: Arc::clone(settings),
            version,
            capabilities,
            call,
            runs: HandlerRuns::default(),
            delivery,
            has_new_steps: AtomicBool::new(false),
            caller: Bell::default(),
        }
    }

    /// Registers the task to wake when a question is asked or answered in another task.
    pub(crate) fn register(&self, task: &TaskContext<'_>) {
        if !matches!(self.delivery, QuestionDelivery::None) {
            self.caller.register(task.waker());
        }
    }

    /// Returns `true` while the call is waiting for an answer from the client.
    pub(crate) fn is_waiting(&self) -> bool {
        matches!(&self.delivery, QuestionDelivery::Requests { waiting, .. } if !lock(waiting).is_empty())
    }

    /// Ends the round if possible and returns its outcome. Called when the handler is pending.
    pub(crate) fn end_round(&self) -> Option<Box<RoundEnd>> {
        match &self.delivery {
            QuestionDelivery::Rounds(round) => round.try_end(|| self.call_id()),
            QuestionDelivery::None | QuestionDelivery::Requests { .. } => None,
        }
    }

    /// Closes a finished call's questions. Tasks that are still waiting for an answer receive an error.
    pub(crate) fn close(&self) {
        match &self.delivery {
            QuestionDelivery::None => {}
            QuestionDelivery::Rounds(round) => round.close(),
            QuestionDelivery::Requests {
                pending, waiting, ..
            } => {
                let waiting = std::mem::take(&mut *lock(waiting));
                for id in waiting {
                    pending.withdraw(id);
                }
            }
        }
    }

    /// Assigns a request id and a deadline to a question.
    fn open_question(
        &self,
        question: &mut CallQuestion,
        task: &TaskContext<'_>,
        pending: &PendingQuestions,
        waiting: &Mutex<Vec<u64>>,
    ) -> Result<(), AskError> {
        let limits = &self.settings.limits;
        if lock(waiting).len() >= limits.max_open {
            return Err(AskError::too_many(limits.max_open));
        }
        let id = pending.open(task.waker()).ok_or(AskError::Gone)?;
        lock(waiting).push(id);
        let timeout = sleep(limits.timeout);
        question.progress = QuestionProgress::Waiting(id, Box::pin(timeout));
        self.caller.wake();
        Ok(())
    }

    /// Sends a server request as soon as the client is ready for it and polls for the answer.
    fn poll_answer(
        &self,
        question: &mut CallQuestion,
        task: &mut TaskContext<'_>,
        pending: &PendingQuestions,
        sink: &dyn Sink,
        waiting: &Mutex<Vec<u64>>,
    ) -> Poll<Result<Box<str>, AskError>> {
        let QuestionProgress::Waiting(id, until) = &mut question.progress else {
            return Poll::Ready(Err(AskError::Gone));
        };
        let id = *id;
        let answer = match pending.poll(id, task.waker()) {
            Poll::Ready(Some(Ok(result))) => Ok(result),
            Poll::Ready(Some(Err(error))) => Err(AskError::Failed {
                code: error.code,
                message: error.message,
            }),
            Poll::Ready(None) => Err(AskError::Gone),
            Poll::Pending => {
                if until.as_mut().poll(task).is_ready() {
                    Err(AskError::TimedOut(self.settings.limits.timeout))
                } else if pending.release(id) && !self.send_question(&question.request, id, sink) {
                    Err(AskError::Gone)
                } else {
                    return Poll::Pending;
                }
            }
        };
        pending.withdraw(id);
        question.progress = QuestionProgress::Over;
        self.stop_waiting(waiting, id);
        Poll::Ready(answer)
    }

    /// Sends a request to the client. Returns `false` if the stream is closed.
    fn send_question(&self, request: &InputRequest, id: u64, sink: &dyn Sink) -> bool {
        let elicitation = match request {
            InputRequest::Url { .. } => random::random_id::<16>(),
            _ => String::new(),
        };
        let params = input::params(request, self.version, &elicitation);
        let mut message = Vec::with_capacity(256);
        encode::request(&mut message, &wire_id(id), input::method(request), &params);
        sink.send(&message)
    }

    /// Removes a question for which the call is no longer waiting, so that the call's clock can resume.
    fn stop_waiting(&self, waiting: &Mutex<Vec<u64>>, id: u64) {
        lock(waiting).retain(|other| *other != id);
        self.caller.wake();
    }
}

impl ClientQuestions {
    /// Returns `true` if the client currently supports this kind of question.
    pub(crate) fn can_ask(&self, feature: ClientFeature) -> bool {
        !matches!(self.delivery, QuestionDelivery::None)
            && negotiation::missing_capabilities(&self.capabilities, &[feature], self.version)
                .is_none()
    }

    /// Checks that a question is valid and that the client supports it.
    pub(crate) fn check(&self, request: &InputRequest) -> Result<(), AskError> {
        if is_inside_once() || is_inside_commit() {
            let inside = "questions cannot be asked inside `once` or `on_commit`; ask first, and pass the answer in";
            return Err(AskError::Misused(inside.into()));
        }
        input::check(request).map_err(AskError::Misused)?;
        let needed = input::required_features(request);
        if let Some(missing) =
            negotiation::missing_capabilities(&self.capabilities, needed, self.version)
        {
            let error = errors::missing_capability(self.version, missing);
            return Err(AskError::Unsupported(error));
        }
        match &self.delivery {
            QuestionDelivery::None => Err(AskError::Misused(
                "only tools, prompts and resources can query the client".into(),
            )),
            QuestionDelivery::Requests { .. } | QuestionDelivery::Rounds(_) => Ok(()),
        }
    }

    /// Assigns a key that distinguishes this question from other questions in the same run.
    pub(crate) fn identify(&self, request: &InputRequest) -> QuestionKey {
        let asked = (
            input::method(request),
            input::params(request, ProtocolVersion::LATEST, ""),
        );
        let digest = seal::digest(&serde_json::to_vec(&asked).unwrap_or_default());
        QuestionKey {
            key: self.runs.numbered_key(&digest),
            digest,
            named: false,
        }
    }

    /// Returns the key used on the wire for a name chosen by the author.
    pub(crate) fn key(&self, name: &str) -> String {
        self.runs.numbered_key(name)
    }

    /// Sends the question or polls for its answer. The answer is JSON text and can contain any value.
    pub(crate) fn poll(
        &self,
        question: &mut CallQuestion,
        task: &mut TaskContext<'_>,
    ) -> Poll<Result<Box<str>, AskError>> {
        if matches!(question.progress, QuestionProgress::Not) {
            self.check(&question.request)?;
            input::remove_unsupported(&mut question.request, &self.capabilities, self.version);
        }
        match &self.delivery {
            QuestionDelivery::None => Poll::Ready(Err(AskError::Gone)),
            QuestionDelivery::Rounds(round) => {
                let most = self.settings.limits.max_open;
                let is_new = matches!(question.progress, QuestionProgress::Not);
                let polled = round.poll(question, self.version, most, task);
                if is_new && polled.is_pending() {
                    self.caller.wake();
                }
                polled
            }
            QuestionDelivery::Requests {
                pending,
                sink,
                waiting,
            } => {
                if matches!(question.progress, QuestionProgress::Not) {
                    if let Some(answer) = self.runs.answer(&question.identity) {
                        question.progress = QuestionProgress::Over;
                        return Poll::Ready(Ok(answer));
                    }
                    self.open_question(question, task, pending, waiting)?;
                }
                let polled = self.poll_answer(question, task, pending, &**sink, waiting);
                if let Poll::Ready(Ok(answer)) = &polled {
                    self.runs.keep_answer(&question.identity, answer);
                }
                polled
            }
        }
    }

    /// Rejects an invalid answer. Returns an error if the question must not be asked again.
    pub(crate) fn reject(
        &self,
        question: &mut CallQuestion,
        problem: String,
    ) -> Result<(), AskError> {
        tracing::debug!(
            key = question.identity.key,
            problem,
            "an answer does not match its question"
        );
        question.rejected = question.rejected.saturating_add(1);
        question.progress = QuestionProgress::Not;
        let again = match &self.delivery {
            // Repeating a question helps only with forms: a user can correct a form, whereas a program would give the
            // same answer again.
            _ if !matches!(question.request, InputRequest::Form { .. }) => false,
            QuestionDelivery::Rounds(round) => {
                round.reject_answer(&question.identity.key, MAX_FORM_TRIES)
            }
            QuestionDelivery::None | QuestionDelivery::Requests { .. } => {
                let again = self
                    .runs
                    .reject_answer(&question.identity.key, MAX_FORM_TRIES);
                again.unwrap_or(question.rejected < MAX_FORM_TRIES)
            }
        };
        if again {
            Ok(())
        } else {
            Err(AskError::Unusable(problem))
        }
    }

    /// Withdraws a question whose answer is no longer awaited.
    pub(crate) fn withdraw(&self, question: &mut CallQuestion) {
        match (&self.delivery, &question.progress) {
            (
                QuestionDelivery::Requests {
                    pending, waiting, ..
                },
                QuestionProgress::Waiting(id, _),
            ) => {
                pending.withdraw(*id);
                self.stop_waiting(waiting, *id);
            }
            (QuestionDelivery::Rounds(round), QuestionProgress::Open) => {
                round.withdraw(&question.identity.key);
            }
            _ => {}
        }
        question.progress = QuestionProgress::Over;
    }

    /// Begins a run of the handler. Middleware may run the handler several times.
    pub(crate) fn begin_run(&self) {
        self.runs.begin();
    }

    /// Ends a run.
    pub(crate) fn end_run(&self) {
        self.runs.end();
    }

    /// Returns the call's id, which is the same in all of its rounds.
    pub(crate) fn call_id(&self) -> CallId {
        *self.call.get_or_init(|| CallId(random::random()))
    }

    /// Starts work that must run only once. Returns its result if an earlier round has already completed it.
    pub(crate) fn begin_once(&self, name: &str) -> Result<Option<Box<str>>, AskError> {
        if is_inside_once() {
            return Err(AskError::Misused(format!(
                "`once` with the name `{name}` is nested in another `once`"
            )));
        }
        if !self.runs.use_once(name) {
            return Err(AskError::Misused(format!(
                "`once` with the name `{name}` is used twice in one call; give each its own name"
            )));
        }
        match &self.delivery {
            QuestionDelivery::Rounds(round) => Ok(round.begin_once(name)),
            QuestionDelivery::None | QuestionDelivery::Requests { .. } => {
                Ok(self.runs.once_result(name))
            }
        }
    }

    /// Ends work started by `begin_once` and records its result if it succeeded.
    pub(crate) fn end_once(&self, name: &str, result: Option<&str>) {
        if let QuestionDelivery::Rounds(round) = &self.delivery {
            round.end_once(name, result);
            self.caller.wake();
        } else if let Some(result) = result {
            self.runs.keep_once_result(name, result);
        }
    }

    /// Returns `true` while work that must run only once is running.
    pub fn is_once_under_way(&self) -> bool {
        matches!(&self.delivery, QuestionDelivery::Rounds(round) if round.is_once_under_way())
    }

    /// Returns `true` if the request continues an earlier round. Its client can send such a request again.
    pub fn is_continued(&self) -> bool {
        matches!(&self.delivery, QuestionDelivery::Rounds(round) if round.call_id().is_some())
    }

    /// Returns the call's journal so far, in case the call continues elsewhere.
    pub(crate) fn journal(&self) -> String {
        let mut journal = match &self.delivery {
            QuestionDelivery::Rounds(round) => round.journal(self.call_id()),
            _ => Journal::of_call(self.call_id()),
        };
        // This ends the round in which the handler has run.
        if self.runs.has_begun() {
            journal.round = journal.round.saturating_add(1);
        }
        journal.to_text()
    }

    /// Ends the call's round, once the handler is pending, with the questions and the journal of a run that is separate
    /// from the request. Returns `false` if the call has no rounds.
    pub fn end_round_with(&self, journal: &str, questions: Vec<QuestionParts>) -> bool {
        matches!(&self.delivery, QuestionDelivery::Rounds(round) if round.adopt(journal, questions))
    }

    /// Returns the store for work that must run only once, if a store is configured and applies to this call.
    pub(crate) fn once_store(&self) -> Option<Arc<dyn OnceStore>> {
        let QuestionDelivery::Rounds(round) = &self.delivery else {
            return None;
        };
        let of_server = self.settings.once_store.as_ref();
        if of_server.is_some() && round.call_id().is_none() {
            self.has_new_steps.store(true, Ordering::Relaxed);
        }
        round.once_store(of_server)
    }
}

/// The steps of a call that ends in its first round are not needed any longer, because no client has a state with which
/// it could continue the call.
impl Drop for ClientQuestions {
    fn drop(&mut self) {
        if !*self.has_new_steps.get_mut() {
            return;
        }
        let (Some(call), Some(store)) = (self.call.get(), &self.settings.once_store) else {
            return;
        };
        if matches!(&self.delivery, QuestionDelivery::Rounds(round) if round.has_ended()) {
            return;
        }
        let (call, store) = (*call, Arc::clone(store));
        (self.settings.spawn)(Box::pin(async move {
            if let Err(error) = store.end(call).await {
                tracing::warn!(%error, "the steps of a call that has ended are kept for a day");
            }
        }));
    }
}

// A handler's runs in a call or round. Middleware may run the handler again after a failure. The handler then receives
// the same client answers and `once` results again.

/// The runs of a handler.
#[derive(Default)]
struct HandlerRuns {
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
    fn begin(&self) {
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
    fn has_begun(&self) -> bool {
        self.state().has_begun
    }

    fn end(&self) {
        let state = &mut *self.state();
        state.running = state.running.saturating_sub(1);
    }

    /// Returns the key for this digest or name. From the second use onward, a number is appended.
    fn numbered_key(&self, name: &str) -> String {
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
    fn use_once(&self, name: &str) -> bool {
        let mut state = self.state();
        let uses = state.uses.get_or_insert_default();
        uses.once.insert(name.to_owned())
    }

    /// Returns the answer that an earlier run received.
    fn answer(&self, question: &QuestionKey) -> Option<Box<str>> {
        let state = self.state();
        state.kept.as_ref()?.answer(question).map(Into::into)
    }

    /// Keeps an answer for further runs.
    fn keep_answer(&self, question: &QuestionKey, answer: &str) {
        self.keep(|journal| journal.add_answer(question, answer));
    }

    /// Rejects an answer if answers are kept. Like [`Journal::reject_answer`], returns `true` if the question is asked
    /// again.
    fn reject_answer(&self, key: &str, max: u32) -> Option<bool> {
        self.keep(|journal| journal.reject_answer(key, max))
    }

    /// Returns the result of the `once` call with this name in an earlier run.
    fn once_result(&self, name: &str) -> Option<Box<str>> {
        let state = self.state();
        state.kept.as_ref()?.once_result(name).map(Into::into)
    }

    /// Keeps the result of the `once` call with this name for further runs.
    fn keep_once_result(&self, name: &str, result: &str) {
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
