//! The in-flight calls that belong to an owner, which is a channel or a session.
//!
//! Removal from the table resolves all races: a call whose entry has been removed does not send a response. Its other
//! messages also stop by the time it is dropped.

use tokio::task::AbortHandle;

use crate::fnv::FnvMap;
use crate::jsonrpc::RequestId;

/// The in-flight calls that belong to an owner. `T` is the owner's data for each call, such as the stream for its
/// response.
#[derive(Debug)]
pub(crate) struct CallTable<T> {
    serials: u64,
    calls: FnvMap<RequestId, TableEntry<T>>,
    /// The calls in their first poll. Most calls finish during it, so they never enter the map.
    polling: Vec<PolledCall>,
}

/// A call that has a task, will have a task, or is queued.
#[derive(Debug)]
struct TableEntry<T> {
    /// Distinguishes this call from an earlier call with the same id.
    serial: u64,
    task: Option<AbortHandle>,
    detail: T,
}

/// A call in its first poll, which cannot be interrupted.
#[derive(Debug)]
struct PolledCall {
    id: RequestId,
    serial: u64,
    cancelled: bool,
}

/// A call that was removed from the table before it was answered.
#[derive(Debug)]
pub(crate) struct RemovedCall<T> {
    pub(crate) id: RequestId,
    pub(crate) serial: u64,
    /// The owner's data. `None` if the call is still in its first poll.
    pub(crate) detail: Option<T>,
    task: Option<AbortHandle>,
}

impl<T> Default for CallTable<T> {
    fn default() -> Self {
        Self {
            serials: 0,
            calls: FnvMap::default(),
            polling: Vec::new(),
        }
    }
}

impl<T> CallTable<T> {
    /// Returns the number of calls that have not been answered or cancelled.
    pub(crate) fn len(&self) -> usize {
        let polling = self.polling.iter().filter(|call| !call.cancelled).count();
        self.calls.len().saturating_add(polling)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.polling.iter().all(|call| call.cancelled)
    }

    /// Returns `true` if a request with this id has not been answered yet.
    pub(crate) fn holds(&self, id: &RequestId) -> bool {
        let is_polled = |call: &PolledCall| call.id == *id && !call.cancelled;
        self.calls.contains_key(id) || self.polling.iter().any(is_polled)
    }

    /// Returns `true` if the call with this id and serial number may still send messages.
    pub(crate) fn is_live(&self, id: &RequestId, serial: u64) -> bool {
        let is_polled = |call: &PolledCall| call.serial == serial && !call.cancelled;
        self.calls.get(id).is_some_and(|call| call.serial == serial)
            || self.polling.iter().any(is_polled)
    }

    /// Adds a call that is about to be polled for the first time. Returns its serial number.
    pub(crate) fn enter(&mut self, id: &RequestId) -> u64 {
        let serial = self.next_serial();
        self.polling.push(PolledCall {
            id: id.clone(),
            serial,
            cancelled: false,
        });
        serial
    }

    /// Ends a call's first poll. Returns `false` if the call was cancelled in the meantime.
    pub(crate) fn leave(&mut self, serial: u64) -> bool {
        let position = self.polling.iter().position(|call| call.serial == serial);
        position.is_some_and(|position| !self.polling.swap_remove(position).cancelled)
    }

    /// Adds a call that is queued or will have a task. Returns its serial number.
    pub(crate) fn add(&mut self, id: &RequestId, detail: T) -> u64 {
        let serial = self.next_serial();
        self.keep(id, serial, detail);
        serial
    }

    /// Keeps a call that is still running after its first poll.
    pub(crate) fn keep(&mut self, id: &RequestId, serial: u64, detail: T) {
        let entry = TableEntry {
            serial,
            task: None,
            detail,
        };
        self.calls.insert(id.clone(), entry);
    }

    /// Records a call's task. If the call has ended in the meantime, ends the task as well.
    pub(crate) fn set_task_or_abort(&mut self, id: &RequestId, serial: u64, task: AbortHandle) {
        match self.calls.get_mut(id) {
            Some(call) if call.serial == serial => call.task = Some(task),
            _ => task.abort(),
        }
    }

    /// Returns the owner's data for a call.
    pub(crate) fn detail(&self, id: &RequestId) -> Option<&T> {
        Some(&self.calls.get(id)?.detail)
    }

    /// Removes a call that has been answered. Returns `None` if it was cancelled.
    pub(crate) fn finish(&mut self, id: &RequestId, serial: u64) -> Option<T> {
        let (id, call) = self.calls.remove_entry(id)?;
        if call.serial != serial {
            // The entry belongs to a later call with the same id.
            self.calls.insert(id, call);
            return None;
        }
        Some(call.detail)
    }

    /// Removes a call because the client has cancelled it.
    pub(crate) fn cancel(&mut self, id: &RequestId) -> Option<RemovedCall<T>> {
        if let Some((id, call)) = self.calls.remove_entry(id) {
            return Some(RemovedCall::from_entry(id, call));
        }
        let is_polled = |call: &&mut PolledCall| call.id == *id && !call.cancelled;
        self.polling
            .iter_mut()
            .find(is_polled)
            .map(RemovedCall::from_polled)
    }

    /// Removes all calls because their owner has ended.
    pub(crate) fn cancel_all(&mut self) -> Vec<RemovedCall<T>> {
        let polling = self.polling.iter_mut().filter(|call| !call.cancelled);
        let polling = polling.map(RemovedCall::from_polled);
        let calls = self.calls.drain();
        polling
            .chain(calls.map(|(id, call)| RemovedCall::from_entry(id, call)))
            .collect()
    }

    /// Returns a serial number that has not been used in this table before.
    pub(crate) fn next_serial(&mut self) -> u64 {
        self.serials = self.serials.wrapping_add(1);
        self.serials
    }
}

impl<T> RemovedCall<T> {
    /// Ends the call's task. The runtime drops the handler's future, so this may be called while holding a lock.
    pub(crate) fn abort(&self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }

    fn from_entry(id: RequestId, call: TableEntry<T>) -> Self {
        Self {
            id,
            serial: call.serial,
            detail: Some(call.detail),
            task: call.task,
        }
    }

    fn from_polled(call: &mut PolledCall) -> Self {
        call.cancelled = true;
        Self {
            id: call.id.clone(),
            serial: call.serial,
            detail: None,
            task: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> RequestId {
        RequestId::from_valid(text)
    }

    #[test]
    fn a_call_is_answered_or_cancelled_but_never_both() {
        let mut table = CallTable::default();
        let polled = table.enter(&id("1"));
        assert!(table.holds(&id("1")) && table.is_live(&id("1"), polled));
        assert!(
            table
                .cancel(&id("1"))
                .is_some_and(|call| call.detail.is_none())
        );
        assert!(!table.holds(&id("1")) && !table.is_live(&id("1"), polled));
        assert!(table.cancel(&id("1")).is_none());
        assert!(!table.leave(polled));

        let kept = table.enter(&id("1"));
        assert!(table.leave(kept));
        table.keep(&id("1"), kept, "detail");
        assert_eq!(table.detail(&id("1")), Some(&"detail"));
        assert_eq!(table.finish(&id("1"), kept), Some("detail"));
        assert!(table.finish(&id("1"), kept).is_none() && table.cancel(&id("1")).is_none());
        assert!(table.is_empty());
    }

    #[test]
    fn an_earlier_call_does_not_end_a_later_one_with_its_id() {
        let mut table = CallTable::default();
        let earlier = table.add(&id("1"), ());
        assert!(table.cancel(&id("1")).is_some());
        let later = table.add(&id("1"), ());
        assert!(table.finish(&id("1"), earlier).is_none());
        assert!(!table.is_live(&id("1"), earlier) && table.is_live(&id("1"), later));
        assert!(table.finish(&id("1"), later).is_some());
    }

    #[tokio::test]
    async fn a_task_that_is_recorded_too_late_is_ended() {
        let mut table = CallTable::default();
        let serial = table.add(&id("1"), ());
        assert!(table.cancel(&id("1")).is_some());
        let task = tokio::spawn(std::future::pending::<()>());
        table.set_task_or_abort(&id("1"), serial, task.abort_handle());
        assert!(task.await.unwrap_err().is_cancelled());
    }

    #[tokio::test]
    async fn the_end_of_the_owner_ends_all_calls() {
        let mut table = CallTable::default();
        let polled = table.enter(&id("1"));
        let serial = table.add(&id("2"), 2);
        let task = tokio::spawn(std::future::pending::<()>());
        table.set_task_or_abort(&id("2"), serial, task.abort_handle());
        assert_eq!(table.len(), 2);
        let removed = table.cancel_all();
        assert_eq!(removed.len(), 2);
        assert!(table.is_empty() && !table.leave(polled));
        removed.iter().for_each(RemovedCall::abort);
        assert!(task.await.unwrap_err().is_cancelled());
    }
}
