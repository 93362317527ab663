//! A channel's work: its running and queued calls, and the answers in unfinished batches.

use std::collections::{HashMap, VecDeque};

use crate::dispatch::{CallTable, RemovedCall};
use crate::jsonrpc::{OwnedRequest, RequestId};

/// A call that is queued, or that starts in its task.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) serial: u64,
    pub(super) request: OwnedRequest,
}

impl Job {
    pub(super) fn id(&self) -> &RequestId {
        self.request.id()
    }
}

/// A number that identifies a batch on its channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct BatchId(u64);

/// The answers collected for a batch.
#[derive(Debug)]
struct OpenBatch {
    /// Number of unanswered requests, plus one while requests are still being added.
    open: usize,
    answers: Vec<u8>,
}

/// A channel's work.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    /// The running and queued calls, each with the batch to which it belongs, if any.
    pub(super) calls: CallTable<Option<BatchId>>,
    queue: VecDeque<Job>,
    queued_bytes: usize,
    batches: HashMap<BatchId, OpenBatch>,
    /// Size of all answers in `batches`, in bytes.
    held: usize,
    /// Number of tasks whose futures have not been dropped yet, including cancelled tasks.
    pub(super) running: usize,
}

impl InFlight {
    /// Returns `true` if all calls have been answered.
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.batches.is_empty()
    }

    pub(super) fn queued_calls(&self) -> usize {
        self.queue.len()
    }

    pub(super) fn queued_bytes(&self) -> usize {
        self.queued_bytes
    }

    pub(super) fn enqueue(&mut self, job: Job) {
        self.queued_bytes = self.queued_bytes.saturating_add(job.request.text_bytes());
        self.queue.push_back(job);
    }

    pub(super) fn dequeue(&mut self) -> Option<Job> {
        let job = self.queue.pop_front()?;
        self.queued_bytes = self.queued_bytes.saturating_sub(job.request.text_bytes());
        Some(job)
    }

    /// Removes a call that the client has cancelled, whether it is running or queued.
    pub(super) fn cancel(&mut self, id: &RequestId) -> Option<RemovedCall<Option<BatchId>>> {
        let removed = self.calls.cancel(id)?;
        self.unqueue(removed.serial);
        Some(removed)
    }

    /// Removes all calls.
    pub(super) fn cancel_all(&mut self) -> Vec<RemovedCall<Option<BatchId>>> {
        self.queue.clear();
        self.queued_bytes = 0;
        self.calls.cancel_all()
    }

    fn unqueue(&mut self, serial: u64) {
        if let Some(position) = self.queue.iter().position(|job| job.serial == serial)
            && let Some(job) = self.queue.remove(position)
        {
            self.queued_bytes = self.queued_bytes.saturating_sub(job.request.text_bytes());
        }
    }

    /// Returns the size in bytes of the answers that are waiting for the rest of their batch.
    pub(super) fn held_answer_bytes(&self) -> usize {
        self.held
    }

    /// Returns the number of unanswered batches.
    pub(super) fn open_batch_count(&self) -> usize {
        self.batches.len()
    }

    /// Opens a batch. Call [`complete_batch_call`](Self::complete_batch_call) once all of its requests have been
    /// recorded.
    pub(super) fn open_batch(&mut self) -> BatchId {
        let batch = BatchId(self.calls.next_serial());
        let answers = Vec::new();
        self.batches.insert(batch, OpenBatch { open: 1, answers });
        batch
    }

    /// Adds a request to the batch.
    pub(super) fn add_call_to_batch(&mut self, batch: BatchId) {
        if let Some(batch) = self.batches.get_mut(&batch) {
            batch.open = batch.open.saturating_add(1);
        }
    }

    /// Completes a request in the batch with its response, which may be empty. For the last request, returns the line
    /// to send, if any.
    pub(super) fn complete_batch_call(&mut self, id: BatchId, answer: &[u8]) -> Option<Vec<u8>> {
        let batch = self.batches.get_mut(&id)?;
        if !answer.is_empty() {
            batch
                .answers
                .push(if batch.answers.is_empty() { b'[' } else { b',' });
            batch.answers.extend_from_slice(answer);
            self.held = self.held.saturating_add(answer.len()).saturating_add(1);
        }
        batch.open = batch.open.saturating_sub(1);
        if batch.open > 0 {
            return None;
        }
        let mut line = self.batches.remove(&id)?.answers;
        self.held = self.held.saturating_sub(line.len());
        if line.is_empty() {
            return None;
        }
        line.push(b']');
        Some(line)
    }
}
