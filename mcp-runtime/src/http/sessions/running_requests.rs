//! The requests that a session is serving, keyed by id.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use tokio::task::AbortHandle;

use crate::fnv::FnvMap;
use crate::http::streams::session_stream::SessionStream;
use crate::jsonrpc::RequestId;

/// The requests that a session is serving.
#[derive(Default)]
pub(super) struct RunningRequests {
    requests: FnvMap<RequestId, RunningRequest>,
    next_serial: u64,
}

/// A request that is being served.
pub(super) struct RunningRequest {
    /// Distinguishes this request from an earlier one with the same id.
    serial: u64,
    /// The request's task and the stream for its answer, once they exist.
    pub(super) task: Option<(AbortHandle, Arc<SessionStream>)>,
}

/// The reason why a request is not served.
pub(super) enum NotEntered {
    /// A request with this id is already being served.
    Repeated,
    /// The maximum number of requests is already being served.
    TooMany,
}

impl RunningRequests {
    pub(super) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Adds a request if fewer than `max` are being served and returns its serial number.
    pub(super) fn enter(&mut self, id: RequestId, max: usize) -> Result<u64, NotEntered> {
        let is_full = self.requests.len() >= max;
        let slot = match self.requests.entry(id) {
            Entry::Occupied(_) => return Err(NotEntered::Repeated),
            Entry::Vacant(_) if is_full => return Err(NotEntered::TooMany),
            Entry::Vacant(slot) => slot,
        };
        let serial = self.next_serial;
        self.next_serial = serial.wrapping_add(1);
        slot.insert(RunningRequest { serial, task: None });
        Ok(serial)
    }

    /// Returns a request that was added earlier, unless it has been cancelled.
    pub(super) fn get_mut(&mut self, id: &RequestId, serial: u64) -> Option<&mut RunningRequest> {
        let request = self.requests.get_mut(id);
        request.filter(|request| request.serial == serial)
    }

    /// Removes a finished request. Returns `false` if it had already been cancelled.
    pub(super) fn leave(&mut self, id: &RequestId, serial: u64) -> bool {
        match self.requests.remove_entry(id) {
            Some((_, request)) if request.serial == serial => true,
            // This entry is for a later request with the same id.
            Some((id, request)) => {
                self.requests.insert(id, request);
                false
            }
            None => false,
        }
    }

    /// Removes a request and returns its task and the stream for its answer, if they exist.
    pub(super) fn cancel(&mut self, id: &RequestId) -> Option<(AbortHandle, Arc<SessionStream>)> {
        self.requests.remove(id)?.task
    }

    /// Takes all requests so that the caller can [abort](Self::abort) them.
    pub(super) fn take(&mut self) -> Self {
        Self {
            requests: std::mem::take(&mut self.requests),
            next_serial: self.next_serial,
        }
    }

    /// Aborts the tasks of all requests.
    pub(super) fn abort(self) {
        for (task, _) in self
            .requests
            .into_values()
            .filter_map(|request| request.task)
        {
            task.abort();
        }
    }
}
