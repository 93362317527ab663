//! Handles incoming lines: interprets messages and batches, queues calls, and cancels them.

use std::sync::Arc;
use std::time::Duration;

use crate::jsonrpc::{ErrorObject, Incoming, RequestId};
use crate::protocol::errors;
use crate::telemetry::RefusalKind;
use crate::transport::duplex::in_flight::Job;
use crate::transport::duplex::{Channel, ChannelState, ClosingPhase, abort, shutting_down};
use crate::transport::peer::{MessageVerdict, Peer};

/// Delay after which a refused client may retry.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// Maximum number of unanswered batches.
const MOST_BATCHES: usize = 64;
/// Number of maximum-size results that are kept, in addition to [`limits.streams.max_outgoing_bytes`](crate::Limits),
/// for calls that finish while the client is not reading.
const UNREAD_RESULTS: usize = 4;

impl<P: Peer> Channel<P> {
    /// Handles a line.
    pub(super) fn handle_line(
        self: &Arc<Self>,
        me: u64,
        text: &[u8],
        known: &mut P::ParseCache,
        scratch: &mut Vec<u8>,
    ) {
        // Matched by reference because a message is large.
        match &self.peer.parse(text, known) {
            Err((id, error)) => {
                self.origin.refused(RefusalKind::Malformed);
                self.answer_error(id.as_ref(), None, error);
                if error.code == ErrorObject::PARSE_ERROR && !self.forgiving {
                    self.lock().stop_reading();
                }
            }
            Ok(Incoming::Message(message)) => self.handle_message(me, text, message, None, scratch),
            Ok(Incoming::Batch(elements)) => self.handle_batch(me, elements, known, scratch),
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

    /// Handles a batch. Its answers are sent as one line.
    fn handle_batch(
        self: &Arc<Self>,
        me: u64,
        elements: &[&str],
        known: &mut P::ParseCache,
        scratch: &mut Vec<u8>,
    ) {
        let most = self.peer.limits().message.max_batch;
        let parsed: Vec<_> = elements
            .iter()
            .map(|text| (text.as_bytes(), self.peer.parse(text.as_bytes(), known)))
            .collect();
        let has_claim = |element: &Result<Incoming<'_, P::Message<'_>>, _>| matches!(element, Ok(Incoming::Message(message)) if P::has_claim(message));
        let reason = if !P::allows_batch(&self.lock().session) {
            Some("this protocol version does not support batches".into())
        } else if elements.len() > most {
            Some(format!("a batch of more than {most} messages"))
        } else if parsed.iter().any(|(_, element)| has_claim(element)) {
            Some("a message that names its own protocol version must not be part of a batch".into())
        } else {
            None
        };
        if let Some(reason) = reason {
            self.origin.refused(RefusalKind::Malformed);
            return self.answer_error(None, None, &ErrorObject::invalid_request(reason));
        }
        if self.lock().in_flight.open_batch_count() >= MOST_BATCHES {
            self.origin.refused(RefusalKind::TooMany);
            let error = errors::too_many("batches", RETRY_AFTER);
            return self.answer_error(None, None, &error);
        }
        let batch = self.lock().in_flight.open_batch();
        for (text, element) in parsed {
            let (id, error) = match element {
                Ok(Incoming::Message(message)) => {
                    self.handle_message(me, text, &message, Some(batch), scratch);
                    continue;
                }
                Ok(Incoming::Batch(_)) => {
                    (None, ErrorObject::invalid_request("a batch within a batch"))
                }
                Err(invalid) => invalid,
            };
            self.lock().in_flight.join(batch);
            self.answer_error(id.as_ref(), Some(batch), &error);
        }
        self.lock().deliver(Some(batch), &[]);
    }

    fn handle_message(
        self: &Arc<Self>,
        me: u64,
        text: &[u8],
        message: &P::Message<'_>,
        batch: Option<u64>,
        scratch: &mut Vec<u8>,
    ) {
        let id = P::request_id(message);
        let mut guard = self.lock();
        let state = &mut *guard;
        if let Some(id) = id {
            if let Some(batch) = batch {
                state.in_flight.join(batch);
            }
            if state.phase != ClosingPhase::Open {
                drop(guard);
                return self.answer_error(Some(id), batch, &shutting_down());
            }
            if state.in_flight.holds(id) {
                drop(guard);
                let error = ErrorObject::invalid_request("a request with this id is still open");
                return self.answer_error(Some(id), batch, &error);
            }
        }
        let mark = state.out.mark();
        let out = if batch.is_some() {
            scratch.clear();
            &mut *scratch
        } else {
            state.out.buffer()
        };
        let verdict = self.peer.decide(message, &mut state.session, out);
        if batch.is_none() {
            state.out.end_line(&mark);
        } else if id.is_none() && !scratch.is_empty() {
            state.out.push(scratch);
        }
        match verdict {
            MessageVerdict::Call(call) if let Some(id) = id => {
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
            MessageVerdict::Cancel(cancelled) => Self::cancel(state, &cancelled),
            MessageVerdict::Silent | MessageVerdict::Answered | MessageVerdict::Call(_) => {
                if let (Some(_), Some(id)) = (batch, id) {
                    self.deliver(state, batch, id, scratch);
                }
            }
        }
    }

    fn queue_or_refuse(
        &self,
        state: &mut ChannelState<P>,
        id: &RequestId,
        batch: Option<u64>,
        text: &[u8],
    ) {
        let limits = self.peer.limits();
        let bytes = state.in_flight.queued_bytes().saturating_add(text.len());
        let fits = bytes <= limits.message.max_line_bytes || state.in_flight.queued_calls() == 0;
        if fits && state.in_flight.queued_calls() < limits.calls.max_queued {
            let job = new_job(state, id, batch, text);
            return state.in_flight.enqueue(job);
        }
        self.origin.refused(RefusalKind::TooMany);
        let error = errors::too_many("requests", RETRY_AFTER);
        let mut message = Vec::new();
        self.peer.error(&mut message, Some(id), &error);
        state.deliver(batch, &message);
    }

    /// Queues the answer to a call and may take over its buffer. If too much output is unread, an error replaces the
    /// answer.
    pub(super) fn deliver(
        &self,
        state: &mut ChannelState<P>,
        batch: Option<u64>,
        id: &RequestId,
        answer: &mut Vec<u8>,
    ) {
        let limits = self.peer.limits();
        let results = limits.calls.max_result_bytes.saturating_mul(UNREAD_RESULTS);
        let most = limits.streams.max_outgoing_bytes.saturating_add(results);
        let unread = state
            .out
            .len()
            .saturating_add(state.in_flight.held_answer_bytes());
        if unread.saturating_add(answer.len()) <= most {
            return match batch {
                None if answer.is_empty() => {}
                None => state.out.push_whole(answer),
                Some(_) => state.deliver(batch, answer),
            };
        }
        let mut message = Vec::new();
        let error = "the answer is lost because too many others wait to be read";
        self.peer
            .error(&mut message, Some(id), &ErrorObject::internal(error));
        state.deliver(batch, &message);
    }

    fn cancel(state: &mut ChannelState<P>, id: &RequestId) {
        match state.in_flight.cancel(id) {
            Some(removed) => {
                state.deliver(removed.batch, &[]);
                // This only marks the task; its future is dropped by the runtime, not here under the lock.
                abort(&removed);
            }
            None => {
                P::cancel(&mut state.session, id);
            }
        }
    }
}

fn new_job<P: Peer>(
    state: &mut ChannelState<P>,
    id: &RequestId,
    batch: Option<u64>,
    text: &[u8],
) -> Job {
    Job {
        id: id.clone(),
        serial: state.in_flight.admit(id, batch),
        text: text.into(),
    }
}
