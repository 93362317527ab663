//! Runs a call until it is answered: polls it in place or in a task, and queues the messages that it sends before its
//! answer.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use crate::dispatch::{CallProgress, Sink};
use crate::jsonrpc::{ErrorObject, Incoming, RequestId};
use crate::panics;
use crate::transport::duplex::in_flight::Job;
use crate::transport::duplex::{Channel, ChannelState, ClosingPhase};
use crate::transport::peer::{MessageVerdict, Peer};

/// Initial capacity of the response buffer, large enough for most responses.
const ANSWER: usize = 256;

/// Result of a call's first poll.
enum FirstPoll<P: Peer> {
    /// The answer is in the scratch buffer.
    Done,
    Running(P::Running),
    Panicked,
}

impl<P: Peer> Channel<P> {
    /// Starts a call and polls it once. Most calls finish during this poll and never need a task.
    pub(super) fn poll_in_place(
        self: &Arc<Self>,
        me: u64,
        call: P::Call<'_>,
        id: &RequestId,
        serial: u64,
        scratch: &mut Vec<u8>,
    ) {
        let pace = P::pace(&call);
        self.beat.leader_enters(&self.watchdog);
        let began = Instant::now();
        let outcome = panics::catch(|| {
            scratch.clear();
            match self.start(call, id, serial) {
                CallProgress::Done(finished) => P::encode(finished, scratch),
                CallProgress::Running(mut running) => {
                    // The poll is unconstrained because the call would otherwise be pending for no reason if the
                    // leader's task had exhausted its budget.
                    let first_poll = poll_fn(|_| P::first_poll(&mut running));
                    let mut first_poll = tokio::task::unconstrained(first_poll);
                    let mut cx = Context::from_waker(Waker::noop());
                    match Pin::new(&mut first_poll).poll(&mut cx) {
                        Poll::Ready(finished) => P::encode(finished, scratch),
                        Poll::Pending => return FirstPoll::<P>::Running(running),
                    }
                }
            }
            FirstPoll::Done
        })
        .unwrap_or(FirstPoll::Panicked);
        P::record_first_poll(&pace, began.elapsed());

        let mut state = self.lock();
        if state.leader == me {
            self.beat.leader_returns();
        } else {
            self.beat.old_leader_returns();
        }
        let is_wanted = state.in_flight.leave(serial);
        match outcome {
            FirstPoll::Done if is_wanted => self.deliver(&mut state, None, id, scratch),
            FirstPoll::Panicked if is_wanted => {
                drop(state);
                self.answer_error(Some(id), None, &panicked());
                state = self.lock();
            }
            FirstPoll::Running(running) if is_wanted && state.phase != ClosingPhase::Closed => {
                state.in_flight.admit_as(id, serial, None);
                let permit = self.permit(&mut state);
                drop(state);
                return self.spawn_running(running, id, serial, permit);
            }
            outcome => {
                // A future that is no longer needed is dropped without holding the lock, because dropping it runs user
                // code.
                drop(state);
                drop(outcome);
                state = self.lock();
            }
        }
        // After a takeover, the new leader may be waiting.
        if state.leader != me {
            self.after_answer(&mut state);
        }
    }

    /// Writes pending output, and wakes the leader if this may have been the last answer or if a queued call can start.
    fn after_answer(&self, state: &mut ChannelState<P>) {
        state.write_if_idle(&self.attention);
        if state.phase != ClosingPhase::Open || state.in_flight.queued_calls() > 0 {
            self.leader.wake();
        }
    }

    fn start(
        self: &Arc<Self>,
        call: P::Call<'_>,
        id: &RequestId,
        serial: u64,
    ) -> CallProgress<P::Running, P::Finished> {
        P::start(call, &|| {
            Arc::new(CallSink {
                channel: Arc::downgrade(self),
                id: id.clone(),
                serial,
            })
        })
    }

    fn permit(self: &Arc<Self>, state: &mut ChannelState<P>) -> RunPermit<P> {
        state.in_flight.running = state.in_flight.running.saturating_add(1);
        RunPermit(Arc::clone(self))
    }

    fn spawn_running(
        self: &Arc<Self>,
        mut running: P::Running,
        id: &RequestId,
        serial: u64,
        permit: RunPermit<P>,
    ) {
        let (channel, name) = (Arc::clone(self), id.clone());
        let task = self.runtime.spawn(async move {
            let answer = channel.poll_to_end(&mut running).await;
            channel.queue_answer(&name, serial, answer);
            // The handler's future is dropped before its permit is returned.
            drop(running);
            drop(permit);
        });
        self.record_task(id, serial, &task.abort_handle());
    }

    /// Starts a queued call.
    pub(super) fn start_job(self: &Arc<Self>, me: u64, job: Job, scratch: &mut Vec<u8>) {
        let parsed = self.peer.parse(&job.text, &mut P::ParseCache::default());
        let mut guard = self.lock();
        let state = &mut *guard;
        // The call may have been refused or cancelled since it left the queue.
        if !state.in_flight.is_live(&job.id, job.serial) {
            return;
        }
        if let (None, Ok(Incoming::Message(message))) = (state.in_flight.batch_of(&job.id), parsed)
        {
            let mark = state.out.mark();
            let out = state.out.buffer();
            let verdict = self.peer.decide(&message, &mut state.session, out);
            state.out.end_line(&mark);
            match verdict {
                MessageVerdict::Call(call) if !P::spawn_first(&call) => {
                    state.in_flight.finish(&job.id, job.serial);
                    let serial = state.in_flight.enter(&job.id);
                    drop(guard);
                    self.poll_in_place(me, call, &job.id, serial, scratch);
                    return;
                }
                MessageVerdict::Call(_) => {}
                // The session changed while the call was queued.
                MessageVerdict::Silent | MessageVerdict::Answered | MessageVerdict::Cancel(_) => {
                    state.in_flight.finish(&job.id, job.serial);
                    return;
                }
            }
        }
        drop(guard);
        self.spawn_job(job);
    }

    /// Runs a whole call in a task, including its start.
    pub(super) fn spawn_job(self: &Arc<Self>, job: Job) {
        let permit = self.permit(&mut self.lock());
        let (channel, id, serial) = (Arc::clone(self), job.id.clone(), job.serial);
        let task = self.runtime.spawn(async move {
            let begin = || {
                channel
                    .origin
                    .run_as_current(|| channel.start_from_text(&job))
            };
            match channel.span.in_scope(begin) {
                None => {}
                Some(Ok(answer)) => channel.queue_answer(&job.id, serial, answer),
                Some(Err(mut running)) => {
                    let answer = channel.poll_to_end(&mut running).await;
                    channel.queue_answer(&job.id, serial, answer);
                    drop(running);
                }
            }
            drop(permit);
        });
        self.record_task(&id, serial, &task.abort_handle());
    }

    fn record_task(&self, id: &RequestId, serial: u64, task: &tokio::task::AbortHandle) {
        if !self.lock().in_flight.record_task(id, serial, task.clone()) {
            // Already finished, or cancelled before its task was recorded.
            task.abort();
        }
    }

    /// Starts a call from its text. Returns `Ok` with the answer if the call has already finished, `Err` with the
    /// running call if it has not, and `None` if the call must no longer be answered.
    fn start_from_text(self: &Arc<Self>, job: &Job) -> Option<Result<ResponseBytes, P::Running>> {
        let parsed = self.peer.parse(&job.text, &mut P::ParseCache::default());
        let Ok(Incoming::Message(message)) = parsed else {
            return Some(Ok(ResponseBytes(None)));
        };
        let mut answer = Vec::with_capacity(ANSWER);
        let call = {
            let mut state = self.lock();
            if !state.in_flight.is_live(&job.id, job.serial) {
                return None;
            }
            match self.peer.decide(&message, &mut state.session, &mut answer) {
                MessageVerdict::Call(call) => call,
                _ => return Some(Ok(ResponseBytes(Some(answer)))),
            }
        };
        let pace = P::pace(&call);
        let began = Instant::now();
        let started = self.beat.run(&self.watchdog, || {
            panics::catch(|| match self.start(call, &job.id, job.serial) {
                CallProgress::Done(finished) => {
                    P::encode(finished, &mut answer);
                    Ok(ResponseBytes(Some(answer)))
                }
                CallProgress::Running(running) => Err(running),
            })
        });
        P::record_first_poll(&pace, began.elapsed());
        Some(started.unwrap_or(Ok(ResponseBytes(None))))
    }

    /// Polls a call until it is finished.
    async fn poll_to_end(&self, running: &mut P::Running) -> ResponseBytes {
        poll_fn(|cx| {
            let polled = self.beat.run(&self.watchdog, || {
                panics::catch(|| {
                    Pin::new(&mut *running).poll(cx).map(|finished| {
                        let mut answer = Vec::with_capacity(ANSWER);
                        P::encode(finished, &mut answer);
                        answer
                    })
                })
            });
            match polled {
                Ok(poll) => poll.map(|answer| ResponseBytes(Some(answer))),
                Err(_) => Poll::Ready(ResponseBytes(None)),
            }
        })
        .await
    }

    /// Queues the answer to a call unless the call was cancelled.
    fn queue_answer(&self, id: &RequestId, serial: u64, answer: ResponseBytes) {
        let mut answer = answer.0.unwrap_or_else(|| {
            let mut message = Vec::new();
            self.peer.error(&mut message, Some(id), &panicked());
            message
        });
        let mut state = self.lock();
        if let Some(removed) = state.in_flight.finish(id, serial) {
            self.deliver(&mut state, removed.batch, id, &mut answer);
            self.after_answer(&mut state);
        }
    }
}

/// An answer. `None` if a panic in the handler was caught only at this level.
struct ResponseBytes(Option<Vec<u8>>);

fn panicked() -> ErrorObject {
    ErrorObject::internal("internal error")
}

/// A permit for a running call. It is returned when dropped, which happens when the call's task ends.
struct RunPermit<P: Peer>(Arc<Channel<P>>);

impl<P: Peer> Drop for RunPermit<P> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.in_flight.running = state.in_flight.running.saturating_sub(1);
        if state.phase != ClosingPhase::Open || state.in_flight.queued_calls() > 0 {
            self.0.leader.wake();
        }
    }
}

/// Queues the messages that a call sends before its answer.
struct CallSink<P: Peer> {
    channel: Weak<Channel<P>>,
    id: RequestId,
    serial: u64,
}

impl<P: Peer> Sink for CallSink<P> {
    fn send(&self, message: &[u8]) -> bool {
        let Some(channel) = self.channel.upgrade() else {
            return false;
        };
        let mut state = channel.lock();
        if state.out.len() >= channel.peer.limits().streams.max_outgoing_bytes
            || !state.in_flight.is_live(&self.id, self.serial)
        {
            return false;
        }
        state.out.push(message);
        state.write_if_idle(&channel.attention);
        true
    }
}
