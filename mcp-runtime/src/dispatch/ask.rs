//! What one call may ask the client, and how: the two ways a question travels meet here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context as TaskContext, Poll};

use tokio::time::Instant;

use crate::bell::Bell;
use crate::context::{AskError, Asked, Asking, CallId, OnceStore, Place, Question, once};
use crate::dispatch::Dispatcher;
use crate::dispatch::pending::{Pending, id_of};
use crate::dispatch::rounds::{Round, RoundEnd};
use crate::dispatch::seal;
use crate::dispatch::stream::Sink;
use crate::protocol::{self, ProtocolVersion, encode, errors, input};
use crate::types::{ClientCapabilities, ClientFeature, InputRequest};

/// How often a form is asked for whose answer does not fit, in the whole of a call.
const TRIES: u32 = 3;

/// What one call may ask the client.
pub(super) struct Asks {
    dispatcher: Arc<Dispatcher>,
    version: ProtocolVersion,
    capabilities: Arc<ClientCapabilities>,
    call: OnceLock<CallId>,
    /// Nothing, until something is asked.
    seen: Mutex<Option<Box<Seen>>>,
    way: Way,
    /// Whoever polls the call: a question may be polled by somebody else.
    caller: Bell,
}

/// How questions travel.
pub(super) enum Way {
    /// Not at all: what is called cannot be answered with a question.
    None,
    /// As requests of our own.
    Requests {
        pending: Arc<Pending>,
        sink: Arc<dyn Sink>,
        /// Those of this call that await an answer.
        waiting: Mutex<Vec<u64>>,
    },
    /// With the end of a round.
    Rounds(Round),
}

/// What was asked in this run.
#[derive(Default)]
struct Seen {
    /// How often each digest, or name, was asked for.
    asked: BTreeMap<String, u32>,
    once: BTreeSet<String>,
}

impl Asks {
    pub(super) fn new(
        dispatcher: &Arc<Dispatcher>,
        version: ProtocolVersion,
        capabilities: Arc<ClientCapabilities>,
        way: Way,
    ) -> Self {
        let call = OnceLock::new();
        if let Way::Rounds(round) = &way
            && let Some(id) = round.call()
        {
            let _ = call.set(id);
        }
        Self {
            dispatcher: Arc::clone(dispatcher),
            version,
            capabilities,
            call,
            seen: Mutex::default(),
            way,
            caller: Bell::default(),
        }
    }

    /// Who is to be woken when a question is asked or answered elsewhere.
    pub(super) fn register(&self, task: &TaskContext<'_>) {
        if !matches!(self.way, Way::None) {
            self.caller.register(task.waker());
        }
    }

    /// Whether the client, rather than the server, is being waited for.
    pub(super) fn is_waiting(&self) -> bool {
        match &self.way {
            Way::Requests { waiting, .. } => !lock(waiting).is_empty(),
            Way::None | Way::Rounds(_) => false,
        }
    }

    /// What the round ends with, if it ends now. Called when the handler is pending.
    pub(super) fn round_over(&self) -> Option<RoundEnd> {
        match &self.way {
            Way::Rounds(round) => round.end(|| self.call_id()),
            Way::None | Way::Requests { .. } => None,
        }
    }

    /// The call is over: whoever still waits for an answer elsewhere is told.
    pub(super) fn close(&self) {
        match &self.way {
            Way::None => {}
            Way::Rounds(round) => round.close(),
            Way::Requests {
                pending, waiting, ..
            } => {
                let waiting = std::mem::take(&mut *lock(waiting));
                for id in waiting {
                    pending.withdraw(id);
                }
            }
        }
    }

    fn seen(&self) -> MutexGuard<'_, Option<Box<Seen>>> {
        lock(&self.seen)
    }

    /// The key for what is known by `name`, numbered from the second time on.
    fn numbered(&self, name: &str) -> String {
        let mut seen = self.seen();
        let asked = &mut seen.get_or_insert_default().asked;
        let count = asked.entry(name.to_owned()).or_default();
        *count = count.saturating_add(1);
        match *count {
            1 => name.to_owned(),
            count => format!("{name}.{count}"),
        }
    }

    fn too_many(&self) -> AskError {
        let most = self.dispatcher.limits().questions;
        AskError::Misused(format!("more than {most} questions are open at once"))
    }

    /// Gives a question an id of our own, and the time it has.
    fn open(
        &self,
        question: &mut Question,
        task: &TaskContext<'_>,
        pending: &Pending,
        waiting: &Mutex<Vec<u64>>,
    ) -> Result<(), AskError> {
        let limits = self.dispatcher.limits();
        if lock(waiting).len() >= limits.questions {
            return Err(self.too_many());
        }
        let id = pending.open(task.waker()).ok_or(AskError::Gone)?;
        lock(waiting).push(id);
        // Far enough away, if the limit is too large for a clock.
        let now = Instant::now();
        let until = now.checked_add(limits.question_time);
        let until = until.unwrap_or_else(|| now + std::time::Duration::from_hours(24 * 365));
        question.progress = Asked::Waiting(id, Box::pin(tokio::time::sleep_until(until)));
        self.caller.wake();
        Ok(())
    }

    /// Looks for the answer to a request of our own, and sends the request when it may be sent.
    fn receive(
        &self,
        question: &mut Question,
        task: &mut TaskContext<'_>,
        pending: &Pending,
        sink: &dyn Sink,
        waiting: &Mutex<Vec<u64>>,
    ) -> Poll<Result<Box<str>, AskError>> {
        let Asked::Waiting(id, until) = &mut question.progress else {
            return Poll::Ready(Err(AskError::Gone));
        };
        let id = *id;
        let answer = match pending.poll(id, task.waker()) {
            Poll::Ready(Ok(Ok(result))) => Ok(result),
            Poll::Ready(Ok(Err(error))) => Err(AskError::Failed {
                code: error.code,
                message: error.message,
            }),
            Poll::Ready(Err(_)) => Err(AskError::Gone),
            Poll::Pending => {
                if until.as_mut().poll(task).is_ready() {
                    Err(AskError::TimedOut(self.dispatcher.limits().question_time))
                } else if pending.release(id) && !self.send(&question.request, id, sink) {
                    Err(AskError::Gone)
                } else {
                    return Poll::Pending;
                }
            }
        };
        pending.withdraw(id);
        question.progress = Asked::Over;
        self.no_longer(waiting, id);
        Poll::Ready(answer)
    }

    /// Sends a request of our own; `false` if nobody reads it.
    fn send(&self, request: &InputRequest, id: u64, sink: &dyn Sink) -> bool {
        let elicitation = match request {
            InputRequest::Url { .. } => seal::random_id(),
            _ => String::new(),
        };
        let params = input::params(request, self.version, &elicitation);
        let mut message = Vec::with_capacity(256);
        encode::request(&mut message, &id_of(id), input::method(request), &params);
        sink.send(&message)
    }

    /// One question less is waited for, so the call's own time goes on.
    fn no_longer(&self, waiting: &Mutex<Vec<u64>>, id: u64) {
        lock(waiting).retain(|other| *other != id);
        self.caller.wake();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Asking for Asks {
    fn can(&self, feature: ClientFeature) -> bool {
        !matches!(self.way, Way::None)
            && protocol::missing(&self.capabilities, &[feature], self.version).is_none()
    }

    fn check(&self, request: &InputRequest) -> Result<(), AskError> {
        if once::is_inside() {
            return Err(AskError::Misused(
                "a question inside `once`: ask first, and hand the answer in".into(),
            ));
        }
        input::check(request).map_err(AskError::Misused)?;
        let needed = input::needs(request);
        if let Some(missing) = protocol::missing(&self.capabilities, needed, self.version) {
            let error = errors::missing_capability(self.version, missing);
            return Err(AskError::Unsupported(error));
        }
        match &self.way {
            Way::None => Err(AskError::Misused(
                "the client can be asked from tools, prompts and resources only".into(),
            )),
            Way::Requests { .. } | Way::Rounds(_) => Ok(()),
        }
    }

    fn place(&self, request: &InputRequest) -> Place {
        let asked = (
            input::method(request),
            input::params(request, ProtocolVersion::LATEST, ""),
        );
        let digest = seal::digest(&serde_json::to_vec(&asked).unwrap_or_default());
        Place {
            key: self.numbered(&digest),
            digest,
            named: false,
        }
    }

    fn key(&self, name: &str) -> String {
        self.numbered(name)
    }

    fn poll(
        &self,
        question: &mut Question,
        task: &mut TaskContext<'_>,
    ) -> Poll<Result<Box<str>, AskError>> {
        if matches!(question.progress, Asked::Not) {
            self.check(&question.request)?;
            input::leave_out(&mut question.request, &self.capabilities, self.version);
        }
        match &self.way {
            Way::None => Poll::Ready(Err(AskError::Gone)),
            Way::Rounds(round) => {
                let most = self.dispatcher.limits().questions;
                let is_new = matches!(question.progress, Asked::Not);
                let polled = round.poll(question, self.version, most, task);
                if is_new && polled.is_pending() {
                    self.caller.wake();
                }
                polled.map(|answer| answer.unwrap_or_else(|_| Err(self.too_many())))
            }
            Way::Requests {
                pending,
                sink,
                waiting,
            } => {
                if matches!(question.progress, Asked::Not) {
                    self.open(question, task, pending, waiting)?;
                }
                self.receive(question, task, pending, &**sink, waiting)
            }
        }
    }

    fn reject(&self, question: &mut Question, problem: String) -> Result<(), AskError> {
        tracing::debug!(key = question.place.key, problem, "an answer does not fit");
        question.rejected = question.rejected.saturating_add(1);
        question.progress = Asked::Not;
        let again = match &self.way {
            // A person may correct a form. A program answers the same again.
            _ if !matches!(question.request, InputRequest::Form { .. }) => false,
            Way::Rounds(round) => round.reject(&question.place.key, TRIES),
            Way::None | Way::Requests { .. } => question.rejected < TRIES,
        };
        if again {
            Ok(())
        } else {
            Err(AskError::Unusable(problem))
        }
    }

    fn withdraw(&self, question: &mut Question) {
        match (&self.way, &question.progress) {
            (
                Way::Requests {
                    pending, waiting, ..
                },
                Asked::Waiting(id, _),
            ) => {
                pending.withdraw(*id);
                self.no_longer(waiting, *id);
            }
            (Way::Rounds(round), Asked::Open) => round.withdraw(&question.place.key),
            _ => {}
        }
        question.progress = Asked::Over;
    }

    fn call_id(&self) -> CallId {
        *self.call.get_or_init(|| CallId(seal::random()))
    }

    fn begin_once(&self, name: &str) -> Result<Option<Box<str>>, AskError> {
        if once::is_inside() {
            return Err(AskError::Misused(format!(
                "`{name}` is done inside another `once`"
            )));
        }
        if !self
            .seen()
            .get_or_insert_default()
            .once
            .insert(name.to_owned())
        {
            return Err(AskError::Misused(format!(
                "`{name}` is done twice in one call: each `once` needs a name of its own"
            )));
        }
        match &self.way {
            Way::Rounds(round) => Ok(round.begin_once(name)),
            Way::None | Way::Requests { .. } => Ok(None),
        }
    }

    fn end_once(&self, name: &str, result: Option<&str>) {
        if let Way::Rounds(round) = &self.way {
            round.end_once(name, result);
            self.caller.wake();
        }
    }

    fn once_store(&self) -> Option<Arc<dyn OnceStore>> {
        match &self.way {
            Way::Rounds(_) => self.dispatcher.settings.once_store.clone(),
            Way::None | Way::Requests { .. } => None,
        }
    }
}
