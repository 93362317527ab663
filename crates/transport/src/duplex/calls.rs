//! Handles incoming lines: interprets messages and batches, and queues and cancels calls.

use std::future::poll_fn;
use std::sync::{Arc, Weak};
use std::time::Instant;

use mcp_core::dispatch::{
    CallProgress, Decision, PreparedCall, RequestDecision, RunningCall, SharedText, Sink,
    WrittenResponse, read_batch,
};
use mcp_core::observe::{RefusalKind, record_refusal};
use mcp_core::registry::FirstPollPace;
use mcp_protocol::jsonrpc::{ErrorObject, Incoming, KnownMeta, Message, OwnedRequest, RequestId};
use mcp_protocol::{encode, errors, jsonrpc};

use crate::duplex::outgoing::{OutgoingBytes, QueuePosition};
use crate::duplex::{BatchId, Channel, ChannelState, ClosingPhase, QueuedCall};

/// Maximum number of unanswered batches.
const MOST_BATCHES: usize = 64;

/// Number of results of maximum size that are kept, in addition to
/// [`limits.streams.max_outgoing_bytes`](mcp_core::limits::Limits), for calls that finish while the client is not reading.
const UNREAD_RESULTS: usize = 4;

impl Channel {
    /// Handles a line.
    pub(super) fn handle_line(
        self: &Arc<Self>,
        leader: u64,
        text: &[u8],
        known: &mut KnownMeta,
        scratch: &mut Vec<u8>,
    ) {
        let limits = self.limits().message.parse_limits();
        // Messages are matched by reference because they are large.
        match &jsonrpc::parse_next(text, &limits, known) {
            Err((id, error)) => {
                self.origin.record_refusal(RefusalKind::Malformed);
                self.answer_error(id.as_ref(), None, error);
                if error.code == ErrorObject::PARSE_ERROR && !self.forgiving {
                    self.lock().stop_reading();
                }
            }
            Ok(Incoming::Message(message)) => {
                self.handle_message(leader, message, None, scratch);
            }
            Ok(Incoming::Batch(elements)) => self.handle_batch(leader, elements, scratch),
        }
    }

    pub(super) fn answer_error(
        &self,
        id: Option<&RequestId>,
        batch: Option<BatchId>,
        error: &ErrorObject,
    ) {
        let mut message = Vec::new();
        encode::error(&mut message, id, error);
        self.lock().queue_answer_bytes(batch, &message);
    }

    /// Handles a batch, whose answers are sent as a single line.
    fn handle_batch(self: &Arc<Self>, leader: u64, elements: &[&str], scratch: &mut Vec<u8>) {
        let version = self.lock().memory.version();
        let limits = self.limits().message.parse_limits();
        let elements = match read_batch(elements, version, &limits) {
            Ok(elements) => elements,
            Err(error) => {
                self.origin.record_refusal(RefusalKind::Malformed);
                return self.answer_error(None, None, &error);
            }
        };
        if self.lock().in_flight.open_batch_count() >= MOST_BATCHES {
            self.origin.record_refusal(RefusalKind::TooMany);
            let error = errors::too_many_at_once("batches", errors::RETRY_AFTER);
            return self.answer_error(None, None, &error);
        }
        let batch = self.lock().in_flight.open_batch();
        for element in elements {
            match element {
                Ok(message) => self.handle_message(leader, &message, Some(batch), scratch),
                Err((id, error)) => {
                    self.lock().in_flight.add_call_to_batch(batch);
                    self.answer_error(id.as_ref(), Some(batch), &error);
                }
            }
        }
        self.lock().queue_answer_bytes(Some(batch), &[]);
    }

    fn handle_message(
        self: &Arc<Self>,
        leader: u64,
        message: &Message<'_>,
        batch: Option<BatchId>,
        scratch: &mut Vec<u8>,
    ) {
        let id = message.id.valid().filter(|_| message.method.is_some());
        let mut guard = self.lock();
        let state = &mut *guard;
        if let Some(id) = id {
            if let Some(batch) = batch {
                state.in_flight.add_call_to_batch(batch);
            }
            if state.phase != ClosingPhase::Open {
                drop(guard);
                return self.answer_error(Some(id), batch, &errors::shutting_down());
            }
            if state.in_flight.calls.holds(id) {
                drop(guard);
                return self.answer_error(Some(id), batch, &errors::id_in_use());
            }
        }
        let mark = state.out.position();
        let out = if batch.is_some() {
            scratch.clear();
            &mut *scratch
        } else {
            state.out.buffer()
        };
        let mut decision = self.dispatcher.decide(message, &mut state.memory, out);
        if let Decision::Request(RequestDecision::Answered(response)) = &mut decision {
            if batch.is_some() {
                complete_apart(response, scratch);
            } else {
                complete_queued(response, &mark, &mut state.out);
            }
        }
        match decision {
            Decision::Request(RequestDecision::Call(call)) if let Some(id) = id => {
                if !self.may_run(state) {
                    self.queue_or_refuse(state, id, batch, message);
                } else if batch.is_some() || call.pace().is_some_and(|pace| pace.spawn_first()) {
                    let queued = enter_queued(state, id, batch, message);
                    drop(guard);
                    self.spawn_queued(queued);
                } else {
                    let serial = state.in_flight.calls.enter(id);
                    drop(guard);
                    self.poll_in_place(leader, call, id, serial, scratch);
                }
            }
            Decision::Cancel(cancelled) => Self::cancel(state, &cancelled),
            Decision::Silent | Decision::Request(_) => {
                if let (Some(_), Some(id)) = (batch, id) {
                    self.queue_answer_or_error(state, batch, id, (scratch, None));
                }
            }
        }
    }

    fn queue_or_refuse(
        &self,
        state: &mut ChannelState,
        id: &RequestId,
        batch: Option<BatchId>,
        message: &Message<'_>,
    ) {
        let limits = self.limits();
        let bytes = message.text_bytes();
        let bytes = state.in_flight.queued_bytes().saturating_add(bytes);
        let fits = bytes <= limits.message.max_line_bytes || state.in_flight.queued_calls() == 0;
        if fits && state.in_flight.queued_calls() < limits.calls.max_queued {
            let queued = enter_queued(state, id, batch, message);
            return state.in_flight.enqueue(queued);
        }
        self.origin.record_refusal(RefusalKind::TooMany);
        let error = errors::too_many_at_once("requests", errors::RETRY_AFTER);
        let mut message = Vec::new();
        encode::error(&mut message, Some(id), &error);
        state.queue_answer_bytes(batch, &message);
    }

    /// Queues the answer to a call and may take ownership of its buffer. If too much output is unread, an error
    /// replaces the answer.
    fn queue_answer_or_error(
        &self,
        state: &mut ChannelState,
        batch: Option<BatchId>,
        id: &RequestId,
        (answer, shared): (&mut Vec<u8>, SharedText),
    ) {
        if let Some(shared) = shared {
            let (gap, text) = *shared;
            if batch.is_none() && self.has_room(state, answer.len().saturating_add(text.len())) {
                return state.out.push_around(answer, gap, text);
            }
            gap.fill(answer, &text);
        }
        if self.has_room(state, answer.len()) {
            return match batch {
                None if answer.is_empty() => {}
                None => state.out.push_whole(answer),
                Some(_) => state.queue_answer_bytes(batch, answer),
            };
        }
        let mut message = Vec::new();
        let error = "the answer was dropped because too many others are waiting to be read";
        encode::error(&mut message, Some(id), &ErrorObject::internal(error));
        state.queue_answer_bytes(batch, &message);
    }

    /// Returns `true` if an answer of this size can be queued.
    fn has_room(&self, state: &ChannelState, bytes: usize) -> bool {
        let limits = self.limits();
        let results = limits.calls.max_result_bytes.saturating_mul(UNREAD_RESULTS);
        let most = limits.streams.max_outgoing_bytes.saturating_add(results);
        let unread = state
            .out
            .len()
            .saturating_add(state.in_flight.held_answer_bytes());
        unread.saturating_add(bytes) <= most
    }

    fn cancel(state: &mut ChannelState, id: &RequestId) {
        match state.in_flight.cancel(id) {
            Some(removed) => {
                state.queue_answer_bytes(removed.detail.flatten(), &[]);
                removed.abort();
            }
            None => state.memory.cancel_listen(id),
        }
    }
}

/// Completes the response that was appended last, as a line of its own.
fn complete_queued(response: &mut WrittenResponse, mark: &QueuePosition, out: &mut OutgoingBytes) {
    record_if_forbidden(response);
    out.complete(response);
    out.end_line(mark);
}

/// Completes a response that is not queued, because it is part of a batch or because its id is still in use.
fn complete_apart(response: &mut WrittenResponse, answer: &mut Vec<u8>) {
    record_if_forbidden(response);
    response.complete(answer);
}

/// Records a refusal for lack of scopes. Calls record their failures themselves.
fn record_if_forbidden(response: &WrittenResponse) {
    let error = response.error.as_deref();
    if error.and_then(errors::scopes_needed).is_some() {
        record_refusal(RefusalKind::Forbidden, None);
    }
}

fn enter_queued(
    state: &mut ChannelState,
    id: &RequestId,
    batch: Option<BatchId>,
    message: &Message<'_>,
) -> QueuedCall {
    QueuedCall {
        serial: state.in_flight.calls.add(id, batch),
        request: OwnedRequest::new(id, message),
    }
}

// --- Runs a call until it is answered: polls it in place or in a task, and queues the messages that it sends before its
// answer.

/// Initial capacity of the response buffer, which is large enough for most responses.
const ANSWER: usize = 256;

impl Channel {
    /// Starts a call and polls it once. Most calls finish during this poll and never need a task.
    fn poll_in_place(
        self: &Arc<Self>,
        leader: u64,
        call: PreparedCall<'_>,
        id: &RequestId,
        serial: u64,
        answer: &mut Vec<u8>,
    ) {
        answer.clear();
        let pace = call.pace().cloned();
        let beat = self.beat.leader_enters_user_code(&self.watchdog);
        let began = Instant::now();
        let progress = call.run(&|| self.new_call_sink(id, serial), answer);
        record_first_poll(pace.as_deref(), began);

        let mut state = self.lock();
        self.beat.leader_leaves_user_code(beat);
        let is_wanted = state.in_flight.calls.leave(serial);
        match progress {
            CallProgress::Answered(written) if is_wanted => {
                self.queue_answer_or_error(&mut state, None, id, (answer, written.shared));
            }
            CallProgress::Running(running) if is_wanted && state.phase != ClosingPhase::Closed => {
                state.in_flight.calls.keep(id, serial, None);
                let permit = self.new_run_permit(&mut state);
                drop(state);
                return self.spawn_running(running, id, serial, permit);
            }
            progress => {
                // The lock is not held while a call that is no longer needed is dropped, because dropping it runs user
                // code.
                drop(state);
                drop(progress);
                state = self.lock();
            }
        }
        // If another task has become the leader, it may be waiting.
        if state.leader != leader {
            self.after_answer(&mut state);
        }
    }

    /// Writes pending output, and wakes the leader if this may have been the last answer or if a queued call can start.
    fn after_answer(&self, state: &mut ChannelState) {
        state.poll_output_if_idle(&self.attention);
        if state.phase != ClosingPhase::Open || state.in_flight.queued_calls() > 0 {
            self.leader.wake();
        }
    }

    fn new_call_sink(self: &Arc<Self>, id: &RequestId, serial: u64) -> Arc<dyn Sink> {
        Arc::new(CallSink {
            channel: Arc::downgrade(self),
            id: id.clone(),
            serial,
        })
    }

    fn new_run_permit(self: &Arc<Self>, state: &mut ChannelState) -> RunPermit {
        state.in_flight.running = state.in_flight.running.saturating_add(1);
        RunPermit(Arc::clone(self))
    }

    fn spawn_running(
        self: &Arc<Self>,
        mut running: RunningCall,
        id: &RequestId,
        serial: u64,
        permit: RunPermit,
    ) {
        let (channel, name) = (Arc::clone(self), id.clone());
        let task = self.runtime.spawn(async move {
            let answer = Vec::with_capacity(ANSWER);
            channel
                .finish_running(&mut running, &name, serial, answer)
                .await;
            // The call runs user code when it is dropped, so it still needs its permit then.
            drop(running);
            drop(permit);
        });
        let calls = &mut self.lock().in_flight.calls;
        calls.set_task_or_abort(id, serial, task.abort_handle());
    }

    /// Starts a queued call.
    pub(super) fn start_queued(
        self: &Arc<Self>,
        leader: u64,
        queued: QueuedCall,
        answer: &mut Vec<u8>,
    ) {
        let message = queued.request.message();
        let mut guard = self.lock();
        let state = &mut *guard;
        // The call may have been refused or cancelled since it left the queue.
        if !state.in_flight.calls.is_live(queued.id(), queued.serial) {
            return;
        }
        let is_alone = state.in_flight.calls.detail(queued.id()) == Some(&None);
        if is_alone {
            let mark = state.out.position();
            let out = state.out.buffer();
            let mut decision = self.dispatcher.decide(&message, &mut state.memory, out);
            if let Decision::Request(RequestDecision::Answered(response)) = &mut decision {
                complete_queued(response, &mark, &mut state.out);
            }
            match decision {
                Decision::Request(RequestDecision::Call(call))
                    if !call.pace().is_some_and(|pace| pace.spawn_first()) =>
                {
                    state.in_flight.calls.finish(queued.id(), queued.serial);
                    let serial = state.in_flight.calls.enter(queued.id());
                    drop(guard);
                    self.poll_in_place(leader, call, queued.id(), serial, answer);
                    return;
                }
                Decision::Request(RequestDecision::Call(_)) => {}
                // The session changed while the call was queued.
                _ => {
                    state.in_flight.calls.finish(queued.id(), queued.serial);
                    return;
                }
            }
        }
        drop(guard);
        self.spawn_queued(queued);
    }

    /// Runs an entire call in a task, including its start.
    fn spawn_queued(self: &Arc<Self>, queued: QueuedCall) {
        let permit = self.new_run_permit(&mut self.lock());
        let (channel, id, serial) = (Arc::clone(self), queued.id().clone(), queued.serial);
        let task = self.runtime.spawn(async move {
            let mut answer = Vec::with_capacity(ANSWER);
            let begin = || {
                channel
                    .origin
                    .run_as_current(|| channel.begin_queued(&queued, &mut answer))
            };
            match channel.span.in_scope(begin) {
                None => {}
                Some(CallProgress::Answered(written)) => {
                    channel.queue_answer(queued.id(), serial, (answer, written.shared));
                }
                Some(CallProgress::Running(mut running)) => {
                    channel
                        .finish_running(&mut running, queued.id(), serial, answer)
                        .await;
                }
            }
            drop(permit);
        });
        let calls = &mut self.lock().in_flight.calls;
        calls.set_task_or_abort(&id, serial, task.abort_handle());
    }

    /// Starts a queued call in its task. Returns `None` if the call was cancelled.
    fn begin_queued(
        self: &Arc<Self>,
        queued: &QueuedCall,
        answer: &mut Vec<u8>,
    ) -> Option<CallProgress> {
        let message = queued.request.message();
        let mut state = self.lock();
        if !state.in_flight.calls.is_live(queued.id(), queued.serial) {
            return None;
        }
        let decision = self.dispatcher.decide(&message, &mut state.memory, answer);
        drop(state);
        let call = match decision {
            Decision::Request(RequestDecision::Call(call)) => call,
            Decision::Request(RequestDecision::Answered(mut response)) => {
                complete_apart(&mut response, answer);
                return Some(CallProgress::Answered(response));
            }
            // This cannot happen, because the message was a request when it was queued. Even so, its id must be
            // released.
            Decision::Silent | Decision::Cancel(_) => {
                let error = ErrorObject::internal("internal error");
                let response = WrittenResponse::of_error(answer, Some(queued.id()), error);
                return Some(CallProgress::Answered(response));
            }
        };
        let pace = call.pace().cloned();
        let began = Instant::now();
        let run = || call.run(&|| self.new_call_sink(queued.id(), queued.serial), answer);
        let progress = self.beat.run(&self.watchdog, run);
        record_first_poll(pace.as_deref(), began);
        Some(progress)
    }

    /// Polls a call until it is answered, and queues the answer. The call is borrowed, because the future of a task that
    /// passed it on would contain it twice.
    async fn finish_running(
        &self,
        running: &mut RunningCall,
        id: &RequestId,
        serial: u64,
        mut answer: Vec<u8>,
    ) {
        let written = poll_fn(|cx| {
            let poll = || running.poll_response(cx, &mut answer);
            self.beat.run(&self.watchdog, poll)
        })
        .await;
        self.queue_answer(id, serial, (answer, written.shared));
    }

    /// Queues the answer to a call unless the call was cancelled.
    fn queue_answer(
        &self,
        id: &RequestId,
        serial: u64,
        (mut answer, shared): (Vec<u8>, SharedText),
    ) {
        let mut state = self.lock();
        if let Some(batch) = state.in_flight.calls.finish(id, serial) {
            self.queue_answer_or_error(&mut state, batch, id, (&mut answer, shared));
            self.after_answer(&mut state);
        }
    }
}

fn record_first_poll(pace: Option<&FirstPollPace>, began: Instant) {
    if let Some(pace) = pace {
        pace.record_first_poll(began.elapsed());
    }
}

/// A permit for a running call, which is returned when dropped at the end of the call's task.
struct RunPermit(Arc<Channel>);

impl Drop for RunPermit {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.in_flight.running = state.in_flight.running.saturating_sub(1);
        if state.phase != ClosingPhase::Open || state.in_flight.queued_calls() > 0 {
            self.0.leader.wake();
        }
    }
}

/// Queues the messages that a call sends before its answer.
struct CallSink {
    channel: Weak<Channel>,
    id: RequestId,
    serial: u64,
}

impl Sink for CallSink {
    fn send(&self, message: &[u8]) -> bool {
        let Some(channel) = self.channel.upgrade() else {
            return false;
        };
        let mut state = channel.lock();
        if state.out.len() >= channel.limits().streams.max_outgoing_bytes
            || !state.in_flight.calls.is_live(&self.id, self.serial)
        {
            return false;
        }
        state.out.push(message);
        state.poll_output_if_idle(&channel.attention);
        true
    }
}
