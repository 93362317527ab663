//! A channel's calls, which may be running, queued, or grouped into batches.
//!
//! Removal from the table decides every race: a call whose entry has been removed sends neither an answer nor any other
//! message.

use std::collections::VecDeque;

use tokio::task::AbortHandle;

use crate::fnv::FnvMap;
use crate::jsonrpc::RequestId;

/// A queued call, stored as the text that was received.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) id: RequestId,
    pub(super) serial: u64,
    pub(super) text: Box<[u8]>,
}

/// A running or queued call.
#[derive(Debug)]
struct InFlightCall {
    serial: u64,
    batch: Option<u64>,
    /// The call's task, if one has been spawned.
    task: Option<AbortHandle>,
}

/// A call in its first poll. It cannot be cancelled during the poll unless another task has taken over the lead.
#[derive(Debug)]
struct PolledCall {
    id: RequestId,
    serial: u64,
    cancelled: bool,
}

/// The answers in a batch.
#[derive(Debug)]
struct OpenBatch {
    /// Number of requests without an answer, plus one while requests are still being added.
    open: usize,
    answers: Vec<u8>,
}

/// A channel's calls.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    serials: u64,
    calls: FnvMap<RequestId, InFlightCall>,
    polling: Vec<PolledCall>,
    queue: VecDeque<Job>,
    queued_bytes: usize,
    batches: FnvMap<u64, OpenBatch>,
    /// Size of all answers in `batches`, in bytes.
    held: usize,
    /// Number of tasks whose futures have not been dropped yet, including cancelled tasks.
    pub(super) running: usize,
}

/// A call that was removed from the table.
#[derive(Debug)]
pub(super) struct RemovedCall {
    pub(super) task: Option<AbortHandle>,
    pub(super) batch: Option<u64>,
}

impl InFlight {
    /// Returns `true` if a request with this id has not been answered yet.
    pub(super) fn holds(&self, id: &RequestId) -> bool {
        self.calls.contains_key(id) || self.polling.iter().any(|p| p.id == *id && !p.cancelled)
    }

    /// Returns `true` if the call with this id and serial number may still send messages.
    pub(super) fn is_live(&self, id: &RequestId, serial: u64) -> bool {
        self.calls.get(id).is_some_and(|call| call.serial == serial)
            || self
                .polling
                .iter()
                .any(|p| p.serial == serial && !p.cancelled)
    }

    /// Returns `true` if all calls have been answered.
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.polling.iter().all(|p| p.cancelled) && self.batches.is_empty()
    }

    /// Records a call that is polled in place and returns its serial number.
    pub(super) fn enter(&mut self, id: &RequestId) -> u64 {
        let serial = self.serial();
        self.polling.push(PolledCall {
            id: id.clone(),
            serial,
            cancelled: false,
        });
        serial
    }

    /// Ends the in-place poll. Returns `false` if the call was cancelled in the meantime.
    pub(super) fn leave(&mut self, serial: u64) -> bool {
        let Some(position) = self.polling.iter().position(|p| p.serial == serial) else {
            return false;
        };
        let polling = self.polling.swap_remove(position);
        !polling.cancelled
    }

    /// Records a call that will have a task and returns its serial number.
    pub(super) fn admit(&mut self, id: &RequestId, batch: Option<u64>) -> u64 {
        let serial = self.serial();
        self.admit_as(id, serial, batch);
        serial
    }

    pub(super) fn admit_as(&mut self, id: &RequestId, serial: u64, batch: Option<u64>) {
        let entry = InFlightCall {
            serial,
            batch,
            task: None,
        };
        self.calls.insert(id.clone(), entry);
    }

    /// Records a call's task. Returns `false` if the call has finished or was cancelled.
    #[must_use]
    pub(super) fn record_task(&mut self, id: &RequestId, serial: u64, task: AbortHandle) -> bool {
        match self.calls.get_mut(id) {
            Some(call) if call.serial == serial => {
                call.task = Some(task);
                true
            }
            _ => false,
        }
    }

    /// Returns the batch that a call belongs to.
    pub(super) fn batch_of(&self, id: &RequestId) -> Option<u64> {
        self.calls.get(id)?.batch
    }

    /// Removes a call that has been answered.
    pub(super) fn finish(&mut self, id: &RequestId, serial: u64) -> Option<RemovedCall> {
        let (id, call) = self.calls.remove_entry(id)?;
        if call.serial != serial {
            // The entry belongs to a later call with the same id.
            self.calls.insert(id, call);
            return None;
        }
        let InFlightCall { task, batch, .. } = call;
        Some(RemovedCall { task, batch })
    }

    /// Removes a running or queued call that the client has cancelled.
    pub(super) fn cancel(&mut self, id: &RequestId) -> Option<RemovedCall> {
        if let Some(InFlightCall {
            serial,
            batch,
            task,
        }) = self.calls.remove(id)
        {
            self.unqueue(serial);
            return Some(RemovedCall { task, batch });
        }
        let polling = self
            .polling
            .iter_mut()
            .find(|p| p.id == *id && !p.cancelled)?;
        polling.cancelled = true;
        Some(RemovedCall {
            task: None,
            batch: None,
        })
    }

    /// Removes all calls.
    pub(super) fn cancel_all(&mut self) -> Vec<(RequestId, RemovedCall)> {
        self.queue.clear();
        self.queued_bytes = 0;
        let polling = self.polling.iter_mut().filter(|p| !p.cancelled).map(|p| {
            p.cancelled = true;
            let removed = RemovedCall {
                task: None,
                batch: None,
            };
            (p.id.clone(), removed)
        });
        let calls = self.calls.drain().map(|(id, call)| {
            let removed = RemovedCall {
                task: call.task,
                batch: call.batch,
            };
            (id, removed)
        });
        polling.chain(calls).collect()
    }

    pub(super) fn queued_calls(&self) -> usize {
        self.queue.len()
    }

    pub(super) fn queued_bytes(&self) -> usize {
        self.queued_bytes
    }

    pub(super) fn enqueue(&mut self, job: Job) {
        self.queued_bytes = self.queued_bytes.saturating_add(job.text.len());
        self.queue.push_back(job);
    }

    pub(super) fn dequeue(&mut self) -> Option<Job> {
        let job = self.queue.pop_front()?;
        self.queued_bytes = self.queued_bytes.saturating_sub(job.text.len());
        Some(job)
    }

    fn unqueue(&mut self, serial: u64) {
        if let Some(position) = self.queue.iter().position(|job| job.serial == serial)
            && let Some(job) = self.queue.remove(position)
        {
            self.queued_bytes = self.queued_bytes.saturating_sub(job.text.len());
        }
    }

    /// Returns the size, in bytes, of the answers that are waiting for the rest of their batch.
    pub(super) fn held_answer_bytes(&self) -> usize {
        self.held
    }

    /// Returns the number of unanswered batches.
    pub(super) fn open_batch_count(&self) -> usize {
        self.batches.len()
    }

    /// Opens a batch. Call [`close`](Self::close) once all of its requests have been recorded.
    pub(super) fn open_batch(&mut self) -> u64 {
        let batch = self.serial();
        let answers = Vec::new();
        self.batches.insert(batch, OpenBatch { open: 1, answers });
        batch
    }

    /// Adds a request to the batch.
    pub(super) fn join(&mut self, batch: u64) {
        if let Some(batch) = self.batches.get_mut(&batch) {
            batch.open = batch.open.saturating_add(1);
        }
    }

    /// Completes one request in the batch with its response, which may be empty. For the last request, returns the line
    /// to send, if any.
    pub(super) fn close(&mut self, id: u64, answer: &[u8]) -> Option<Vec<u8>> {
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

    fn serial(&mut self) -> u64 {
        self.serials = self.serials.wrapping_add(1);
        self.serials
    }
}
