//! Handles incoming lines: interprets messages and batches, and queues and cancels calls.

use std::sync::Arc;

use crate::dispatch::{Decision, SharedText, WrittenResponse, read_batch};
use crate::jsonrpc::{self, ErrorObject, Incoming, KnownMeta, Message, OwnedRequest, RequestId};
use crate::observe::{RefusalKind, record_refusal};
use crate::protocol::{encode, errors};
use crate::transport::duplex::in_flight::{BatchId, Job};
use crate::transport::duplex::outgoing::{OutgoingBytes, QueuePosition};
use crate::transport::duplex::{Channel, ChannelState, ClosingPhase, shutting_down_error};

/// Maximum number of unanswered batches.
const MOST_BATCHES: usize = 64;
/// Number of results of maximum size that are kept, in addition to
/// [`limits.streams.max_outgoing_bytes`](crate::Limits), for calls that finish while the client is not reading.
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
                return self.answer_error(Some(id), batch, &shutting_down_error());
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
        match &mut decision {
            Decision::Answered(response) if batch.is_some() => complete_apart(response, scratch),
            Decision::Answered(response) => complete_queued(response, &mark, &mut state.out),
            _ => {}
        }
        match decision {
            Decision::Call(call) if let Some(id) = id => {
                if !self.may_run(state) {
                    self.queue_or_refuse(state, id, batch, message);
                } else if batch.is_some() || call.pace().is_some_and(|pace| pace.spawn_first()) {
                    let job = new_job(state, id, batch, message);
                    drop(guard);
                    self.spawn_job(job);
                } else {
                    let serial = state.in_flight.calls.enter(id);
                    drop(guard);
                    self.poll_in_place(leader, call, id, serial, scratch);
                }
            }
            Decision::Cancel(cancelled) => Self::cancel(state, &cancelled),
            Decision::Silent | Decision::Answered(_) | Decision::Call(_) => {
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
            let job = new_job(state, id, batch, message);
            return state.in_flight.enqueue(job);
        }
        self.origin.record_refusal(RefusalKind::TooMany);
        let error = errors::too_many_at_once("requests", errors::RETRY_AFTER);
        let mut message = Vec::new();
        encode::error(&mut message, Some(id), &error);
        state.queue_answer_bytes(batch, &message);
    }

    /// Queues the answer to a call and may take ownership of its buffer. If too much output is unread, an error
    /// replaces the answer.
    pub(super) fn queue_answer_or_error(
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
pub(super) fn complete_queued(
    response: &mut WrittenResponse,
    mark: &QueuePosition,
    out: &mut OutgoingBytes,
) {
    record_if_forbidden(response);
    out.complete(response);
    out.end_line(mark);
}

/// Completes a response that is not queued, because it is part of a batch or because its id is still in use.
pub(super) fn complete_apart(response: &mut WrittenResponse, answer: &mut Vec<u8>) {
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

fn new_job(
    state: &mut ChannelState,
    id: &RequestId,
    batch: Option<BatchId>,
    message: &Message<'_>,
) -> Job {
    Job {
        serial: state.in_flight.calls.add(id, batch),
        request: OwnedRequest::new(id, message),
    }
}
