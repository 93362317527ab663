//! From a line to its answer: deciding, polling in place, tasks, cancelling.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use crate::dispatch::Sink;
use crate::jsonrpc::{ErrorObject, RequestId};
use crate::transport::duplex::in_flight::Job;
use crate::transport::duplex::{Channel, Phase, State, abort};
use crate::transport::peer::{Begun, Parsed, Peer, Verdict};

/// The code of a call that is refused because too many wait. JSON-RPC and the protocol leave it to applications; the
/// number is the one HTTP has for the same.
const TOO_MANY: i32 = 429;
/// When a refused client may try again.
const RETRY_AFTER_MS: u64 = 1_000;

/// What the first poll of a call came to.
enum Outcome<P: Peer> {
    /// Its answer is in the scratch buffer.
    Done,
    Running(P::Running),
    Panicked,
}

impl<P: Peer> Channel<P> {
    /// Handles a line.
    pub(super) fn handle(self: &Arc<Self>, me: u64, text: &[u8], scratch: &mut Vec<u8>) {
        match self.peer.parse(text) {
            Err((id, error)) => self.answer_error(id.as_ref(), None, &error),
            Ok(Parsed::One(message)) => self.message(me, text, message, None, scratch),
            Ok(Parsed::Batch(elements)) => self.batch(me, &elements, scratch),
        }
    }

    pub(super) fn answer_error(
        &self,
        id: Option<&RequestId>,
        batch: Option<u64>,
        error: &ErrorObject,
    ) {
        let mut message = Vec::new();
        self.peer.error(&mut message, id, error);
        self.lock().deliver(batch, &message);
    }

    /// Handles an array: all of it is one line of answers.
    fn batch(self: &Arc<Self>, me: u64, elements: &[&str], scratch: &mut Vec<u8>) {
        let most = self.peer.limits().batch;
        let parsed: Vec<_> = elements
            .iter()
            .map(|text| (text.as_bytes(), self.peer.parse(text.as_bytes())))
            .collect();
        let has_claim = |element: &Result<Parsed<'_, P::Message<'_>>, _>| matches!(element, Ok(Parsed::One(message)) if P::has_claim(message));
        let reason = if !P::allows_batch(&self.lock().session) {
            Some("a message must not be an array in this revision".into())
        } else if elements.len() > most {
            Some(format!("an array of more than {most} messages"))
        } else if parsed.iter().any(|(_, element)| has_claim(element)) {
            Some(
                "a message that names its own protocol version must not be part of an array".into(),
            )
        } else {
            None
        };
        if let Some(reason) = reason {
            return self.answer_error(None, None, &ErrorObject::invalid_request(reason));
        }
        let batch = self.lock().in_flight.open_batch();
        for (text, element) in parsed {
            let (id, error) = match element {
                Ok(Parsed::One(message)) => {
                    self.message(me, text, message, Some(batch), scratch);
                    continue;
                }
                Ok(Parsed::Batch(_)) => (
                    None,
                    ErrorObject::invalid_request("an array within an array"),
                ),
                Err(invalid) => invalid,
            };
            self.lock().in_flight.join(batch);
            self.answer_error(id.as_ref(), Some(batch), &error);
        }
        self.lock().deliver(Some(batch), &[]);
    }

    fn message<'m>(
        self: &Arc<Self>,
        me: u64,
        text: &'m [u8],
        message: P::Message<'m>,
        batch: Option<u64>,
        scratch: &mut Vec<u8>,
    ) {
        let id = P::request_id(&message);
        let mut guard = self.lock();
        let state = &mut *guard;
        if let Some(id) = id {
            if let Some(batch) = batch {
                state.in_flight.join(batch);
            }
            if state.in_flight.holds(id) {
                drop(guard);
                let error = ErrorObject::invalid_request("a request of this id is still open");
                return self.answer_error(Some(&RequestId::from_valid(id)), batch, &error);
            }
        }
        let verdict = if batch.is_some() {
            scratch.clear();
            let verdict = self.peer.decide(message, &mut state.session, scratch);
            if id.is_none() && !scratch.is_empty() {
                state.out.push(scratch);
            }
            verdict
        } else {
            let mark = state.out.mark();
            let out = state.out.buffer();
            let verdict = self.peer.decide(message, &mut state.session, out);
            state.out.end_line(&mark);
            verdict
        };
        match (verdict, id) {
            (Verdict::Call(call), Some(id)) => {
                if !self.may_run(state) {
                    self.queue_or_refuse(state, id, batch, text);
                } else if batch.is_some() || P::spawn_first(&call) {
                    let job = new_job(state, id, batch, text);
                    drop(guard);
                    self.spawn_job(job);
                } else {
                    let serial = state.in_flight.enter(id);
                    drop(guard);
                    self.poll_in_place(me, call, id, serial, scratch);
                }
            }
            (Verdict::Cancel(cancelled), _) => self.cancel(state, &cancelled),
            (Verdict::Silent | Verdict::Answered | Verdict::Call(_), _) => {
                if batch.is_some() && id.is_some() {
                    state.deliver(batch, scratch);
                }
            }
        }
    }

    fn queue_or_refuse(&self, state: &mut State<P>, id: &str, batch: Option<u64>, text: &[u8]) {
        let limits = self.peer.limits();
        let bytes = state.in_flight.queued_bytes().saturating_add(text.len());
        let fits = bytes <= limits.line || state.in_flight.queued() == 0;
        if fits && state.in_flight.queued() < limits.queued {
            let job = new_job(state, id, batch, text);
            return state.in_flight.enqueue(job);
        }
        let data = serde_json::json!({ "retryAfterMs": RETRY_AFTER_MS });
        let error = ErrorObject::new(TOO_MANY, "too many requests are waiting").with_data(data);
        let mut message = Vec::new();
        let id = RequestId::from_valid(id);
        self.peer.error(&mut message, Some(&id), &error);
        state.deliver(batch, &message);
    }

    fn cancel(&self, state: &mut State<P>, id: &RequestId) {
        match state.in_flight.cancel(id.as_json()) {
            Some(removed) => {
                state.deliver(removed.batch, &[]);
                // Only marks the task: its future is dropped by the runtime, not here under the lock.
                abort(&removed);
            }
            None => {
                P::cancel(&mut state.session, id);
            }
        }
    }

    /// Starts a call and polls it once. Most calls are done then, and never cost a task.
    fn poll_in_place(
        self: &Arc<Self>,
        me: u64,
        call: P::Call<'_>,
        id: &str,
        serial: u64,
        scratch: &mut Vec<u8>,
    ) {
        let pace = P::pace(&call);
        self.beat.lead(&self.watchdog);
        let began = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let finished = match self.start(call, id, serial) {
                Begun::Done(finished) => finished,
                Begun::Running(mut running) => {
                    // The budget of the leader's task is not the handler's: it would become pending for nothing.
                    let mut first_poll = tokio::task::unconstrained(&mut running);
                    let mut cx = Context::from_waker(Waker::noop());
                    match Pin::new(&mut first_poll).poll(&mut cx) {
                        Poll::Ready(finished) => finished,
                        Poll::Pending => return Outcome::<P>::Running(running),
                    }
                }
            };
            scratch.clear();
            P::encode(finished, scratch);
            Outcome::Done
        }))
        .unwrap_or(Outcome::Panicked);
        P::observed(&pace, began.elapsed());

        let mut state = self.lock();
        if state.leader == me {
            self.beat.led();
        } else {
            self.beat.came_late();
        }
        let is_wanted = state.in_flight.leave(serial);
        match outcome {
            Outcome::Done if is_wanted => state.deliver(None, scratch),
            Outcome::Panicked if is_wanted => {
                drop(state);
                self.answer_error(Some(&RequestId::from_valid(id)), None, &panicked());
                state = self.lock();
            }
            Outcome::Running(running) if is_wanted && state.phase != Phase::Closed => {
                state.in_flight.admit_as(id, serial, None);
                let permit = self.permit(&mut state);
                drop(state);
                return self.spawn_running(running, id, serial, permit);
            }
            outcome => {
                // A future that is not wanted is dropped without the lock: that is user code.
                drop(state);
                drop(outcome);
                state = self.lock();
            }
        }
        // After a take-over the new leader may be waiting.
        if state.leader != me {
            self.after_answer(&mut state);
        }
    }

    /// Writes, and lets the leader see whether that was the last answer.
    fn after_answer(&self, state: &mut State<P>) {
        state.write_if_idle(&self.attention);
        if state.phase != Phase::Open || state.in_flight.queued() > 0 {
            self.leader.wake();
        }
    }

    fn start(
        self: &Arc<Self>,
        call: P::Call<'_>,
        id: &str,
        serial: u64,
    ) -> Begun<P::Running, P::Finished> {
        P::start(call, &|| {
            Arc::new(CallSink {
                channel: Arc::downgrade(self),
                id: id.into(),
                serial,
            })
        })
    }

    fn permit(self: &Arc<Self>, state: &mut State<P>) -> Permit<P> {
        state.in_flight.running = state.in_flight.running.saturating_add(1);
        Permit(Arc::clone(self))
    }

    fn spawn_running(
        self: &Arc<Self>,
        mut running: P::Running,
        id: &str,
        serial: u64,
        permit: Permit<P>,
    ) {
        let (channel, name) = (Arc::clone(self), Box::<str>::from(id));
        let task = self.runtime.spawn(async move {
            let answer = channel.run(&mut running).await;
            channel.finish(&name, serial, answer);
            // The handler's future is gone before its place is free.
            drop(running);
            drop(permit);
        });
        self.own(id, serial, &task.abort_handle());
    }

    /// Starts a call that waited.
    pub(super) fn start_job(self: &Arc<Self>, me: u64, job: Job, scratch: &mut Vec<u8>) {
        let parsed = self.peer.parse(&job.text);
        let mut guard = self.lock();
        let state = &mut *guard;
        if let (None, Ok(Parsed::One(message))) = (state.in_flight.batch_of(&job.id), parsed) {
            let mark = state.out.mark();
            let out = state.out.buffer();
            let verdict = self.peer.decide(message, &mut state.session, out);
            state.out.end_line(&mark);
            match verdict {
                Verdict::Call(call) if !P::spawn_first(&call) => {
                    state.in_flight.finish(&job.id, job.serial);
                    let serial = state.in_flight.enter(&job.id);
                    drop(guard);
                    self.poll_in_place(me, call, &job.id, serial, scratch);
                    return;
                }
                Verdict::Call(_) => {}
                // Things changed while it waited.
                Verdict::Silent | Verdict::Answered | Verdict::Cancel(_) => {
                    state.in_flight.finish(&job.id, job.serial);
                    return;
                }
            }
        }
        drop(guard);
        self.spawn_job(job);
    }

    /// Runs a call in a task from its start.
    fn spawn_job(self: &Arc<Self>, job: Job) {
        let permit = self.permit(&mut self.lock());
        let (channel, id, serial) = (Arc::clone(self), job.id.clone(), job.serial);
        let task = self.runtime.spawn(async move {
            match channel.begin(&job) {
                None => {}
                Some(Ok(answer)) => channel.finish(&job.id, serial, answer),
                Some(Err(mut running)) => {
                    let answer = channel.run(&mut running).await;
                    channel.finish(&job.id, serial, answer);
                    drop(running);
                }
            }
            drop(permit);
        });
        self.own(&id, serial, &task.abort_handle());
    }

    fn own(&self, id: &str, serial: u64, task: &tokio::task::AbortHandle) {
        if !self.lock().in_flight.owns(id, serial, task.clone()) {
            // Finished already, or taken back before it was ours.
            task.abort();
        }
    }

    /// Starts a call from its text. `Ok` is an answer, `None` means that there is none to be given.
    fn begin(self: &Arc<Self>, job: &Job) -> Option<Result<Answer, P::Running>> {
        let Ok(Parsed::One(message)) = self.peer.parse(&job.text) else {
            return Some(Ok(Answer(None)));
        };
        let mut answer = Vec::new();
        let call = {
            let mut state = self.lock();
            if !state.in_flight.is_live(&job.id, job.serial) {
                return None;
            }
            match self.peer.decide(message, &mut state.session, &mut answer) {
                Verdict::Call(call) => call,
                _ => return Some(Ok(Answer(Some(answer)))),
            }
        };
        let pace = P::pace(&call);
        let began = Instant::now();
        let begun = self.beat.run(&self.watchdog, || {
            catch_unwind(AssertUnwindSafe(|| {
                let begun = self.start(call, &job.id, job.serial);
                match begun {
                    Begun::Done(finished) => {
                        P::encode(finished, &mut answer);
                        Ok(Answer(Some(answer)))
                    }
                    Begun::Running(mut running) => {
                        let mut cx = Context::from_waker(Waker::noop());
                        match Pin::new(&mut running).poll(&mut cx) {
                            Poll::Ready(finished) => {
                                P::encode(finished, &mut answer);
                                Ok(Answer(Some(answer)))
                            }
                            Poll::Pending => Err(running),
                        }
                    }
                }
            }))
        });
        P::observed(&pace, began.elapsed());
        Some(begun.unwrap_or(Ok(Answer(None))))
    }

    /// Polls a call to its end.
    async fn run(&self, running: &mut P::Running) -> Answer {
        poll_fn(|cx| {
            let polled = self.beat.run(&self.watchdog, || {
                catch_unwind(AssertUnwindSafe(|| {
                    Pin::new(&mut *running).poll(cx).map(|finished| {
                        let mut answer = Vec::new();
                        P::encode(finished, &mut answer);
                        answer
                    })
                }))
            });
            match polled {
                Ok(poll) => poll.map(|answer| Answer(Some(answer))),
                Err(_) => Poll::Ready(Answer(None)),
            }
        })
        .await
    }

    /// Queues the answer of a call, unless it was taken back.
    fn finish(&self, id: &str, serial: u64, answer: Answer) {
        let answer = answer.0.unwrap_or_else(|| {
            let mut message = Vec::new();
            let id = RequestId::from_valid(id);
            self.peer.error(&mut message, Some(&id), &panicked());
            message
        });
        let mut state = self.lock();
        if let Some(removed) = state.in_flight.finish(id, serial) {
            state.deliver(removed.batch, &answer);
            self.after_answer(&mut state);
        }
    }
}

/// An answer, or none because the handler panicked where nothing else contained it.
struct Answer(Option<Vec<u8>>);

fn panicked() -> ErrorObject {
    ErrorObject::internal("internal error")
}

fn new_job<P: Peer>(state: &mut State<P>, id: &str, batch: Option<u64>, text: &[u8]) -> Job {
    Job {
        id: id.into(),
        serial: state.in_flight.admit(id, batch),
        text: text.into(),
    }
}

/// A place among the running calls, given back when the call's task is gone.
struct Permit<P: Peer>(Arc<Channel<P>>);

impl<P: Peer> Drop for Permit<P> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.in_flight.running = state.in_flight.running.saturating_sub(1);
        if state.phase != Phase::Open || state.in_flight.queued() > 0 {
            self.0.leader.wake();
        }
    }
}

/// Takes what a call sends before its answer.
struct CallSink<P: Peer> {
    channel: Weak<Channel<P>>,
    id: Box<str>,
    serial: u64,
}

impl<P: Peer> Sink for CallSink<P> {
    fn send(&self, message: &[u8]) -> bool {
        let Some(channel) = self.channel.upgrade() else {
            return false;
        };
        let mut state = channel.lock();
        if state.out.len() >= channel.peer.limits().outgoing
            || !state.in_flight.is_live(&self.id, self.serial)
        {
            return false;
        }
        state.out.push(message);
        state.write_if_idle(&channel.attention);
        true
    }
}
