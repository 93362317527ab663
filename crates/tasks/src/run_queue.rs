//! The order in which tasks run: callers take turns, so that a caller with many tasks does not hold up other callers.
//!
//! A task needs two permits: one from the process and, if its tool's concurrency is limited, one from the tool. While
//! waiting for one permit, a task does not hold the other. If it is a task's turn but the tool's permit is not
//! available, the task passes the turn on and waits for the tool. A process permit is never reserved for a task that
//! cannot use it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use mcp_core::sync::lock;
use tokio::sync::oneshot;

/// The process's permits for a limited number of tasks.
#[derive(Clone)]
pub(super) struct RunQueue(Arc<Mutex<RunQueueState>>);

struct RunQueueState {
    /// Number of available permits.
    free: usize,
    /// Number of tasks that have been given their turn but have not used it yet.
    called: usize,
    /// The callers with waiting tasks, each listed once; the first caller is called next.
    turns: VecDeque<Arc<str>>,
    /// Each caller's waiting tasks, in order of arrival.
    waiting: HashMap<Arc<str>, VecDeque<oneshot::Sender<QueueTurn>>>,
}

/// A task's right to take a permit. Dropping this value passes the right on to the next task.
pub(super) struct QueueTurn(Option<RunQueue>);

/// A permit to run a task, which is returned when dropped.
pub(super) struct TaskPermit(RunQueue);

impl RunQueue {
    /// Creates a queue with this number of permits, with a minimum of one.
    pub(super) fn new(permits: usize) -> Self {
        Self(Arc::new(Mutex::new(RunQueueState {
            free: permits.max(1),
            called: 0,
            turns: VecDeque::new(),
            waiting: HashMap::new(),
        })))
    }

    /// Waits for the turn of one of this caller's tasks. Dropping the future cancels the wait.
    pub(super) async fn turn(&self, caller: &Arc<str>) -> QueueTurn {
        let receiver = {
            let mut state = lock(&self.0);
            if state.turns.is_empty() && state.called < state.free {
                state.called = state.called.saturating_add(1);
                return QueueTurn(Some(self.clone()));
            }
            let (sender, receiver) = oneshot::channel();
            state.enqueue(caller, sender);
            receiver
        };
        match receiver.await {
            Ok(turn) => turn,
            // The queue keeps the sender until it has sent a turn.
            Err(_) => std::future::pending().await,
        }
    }

    /// Returns a permit if one is available, for a task that has already had its turn.
    pub(super) fn try_acquire(&self) -> Option<TaskPermit> {
        let mut state = lock(&self.0);
        state.free = state.free.checked_sub(1)?;
        Some(TaskPermit(self.clone()))
    }

    /// Returns a permit if one is available and no task is waiting for its turn.
    pub(super) fn try_turn(&self) -> Option<TaskPermit> {
        let mut state = lock(&self.0);
        if !state.turns.is_empty() || state.called >= state.free {
            return None;
        }
        state.free = state.free.checked_sub(1)?;
        Some(TaskPermit(self.clone()))
    }

    /// Calls one task for each available permit.
    fn call_next(&self) {
        loop {
            let next = {
                let mut state = lock(&self.0);
                let is_free = state.called < state.free;
                let Some(next) = is_free.then(|| state.dequeue()).flatten() else {
                    return;
                };
                state.called = state.called.saturating_add(1);
                next
            };
            // Dropping the turn of a task that is no longer waiting would call the next task from here.
            if let Err(mut unused) = next.send(QueueTurn(Some(self.clone()))) {
                unused.0 = None;
                self.end_turn();
            }
        }
    }

    fn end_turn(&self) {
        let mut state = lock(&self.0);
        state.called = state.called.saturating_sub(1);
    }
}

impl RunQueueState {
    fn enqueue(&mut self, caller: &Arc<str>, task: oneshot::Sender<QueueTurn>) {
        let tasks = self.waiting.entry(Arc::clone(caller)).or_default();
        if tasks.is_empty() {
            self.turns.push_back(Arc::clone(caller));
        }
        tasks.push_back(task);
    }

    fn dequeue(&mut self) -> Option<oneshot::Sender<QueueTurn>> {
        let caller = self.turns.pop_front()?;
        let tasks = self.waiting.get_mut(&caller)?;
        let task = tasks.pop_front();
        if tasks.is_empty() {
            self.waiting.remove(&caller);
        } else {
            self.turns.push_back(caller);
        }
        task
    }
}

impl QueueTurn {
    /// Takes the permit. Returns `None` if a task that had already had its turn took the permit first.
    pub(super) fn take(mut self) -> Option<TaskPermit> {
        let queue = self.0.take()?;
        queue.end_turn();
        queue.try_acquire()
    }
}

impl Drop for QueueTurn {
    fn drop(&mut self) {
        if let Some(queue) = self.0.take() {
            queue.end_turn();
            queue.call_next();
        }
    }
}

impl Drop for TaskPermit {
    fn drop(&mut self) {
        {
            let mut state = lock(&self.0.0);
            state.free = state.free.saturating_add(1);
        }
        self.0.call_next();
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    type Waiting = Pin<Box<dyn Future<Output = QueueTurn>>>;

    fn wait(queue: &RunQueue, caller: &str) -> Waiting {
        let (queue, caller) = (queue.clone(), Arc::from(caller));
        let mut waiting: Waiting = Box::pin(async move { queue.turn(&caller).await });
        assert!(poll(&mut waiting).is_none());
        waiting
    }

    fn poll(waiting: &mut Waiting) -> Option<QueueTurn> {
        match waiting
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            Poll::Ready(turn) => Some(turn),
            Poll::Pending => None,
        }
    }

    #[test]
    fn callers_take_turns_and_their_own_tasks_keep_their_order() {
        let queue = RunQueue::new(1);
        let mut running = queue.try_acquire();
        let names = ["a1", "a2", "a3", "b1", "c1", "b2"];
        let mut tasks: Vec<_> = names.map(|name| (name, wait(&queue, &name[..1]))).into();
        let mut order = Vec::new();
        while !tasks.is_empty() {
            assert!(queue.try_acquire().is_none());
            drop(running.take());
            let mut polled = tasks.iter_mut().enumerate();
            let called = polled.find_map(|(index, (_, task))| Some((index, poll(task)?)));
            let (index, turn) = called.expect("one of them is called");
            order.push(tasks.remove(index).0);
            running = turn.take();
            assert!(running.is_some());
        }
        assert_eq!(order, ["a1", "b1", "c1", "a2", "b2", "a3"]);
        drop(running);
        assert!(queue.try_acquire().is_some());
    }

    #[test]
    fn the_turn_of_a_dropped_task_passes_to_the_next_task() {
        let queue = RunQueue::new(1);
        let running = queue.try_acquire();
        let (first, second) = (wait(&queue, "a"), wait(&queue, "a"));
        let (mut third, mut fourth) = (wait(&queue, "a"), wait(&queue, "a"));
        drop(first);
        drop(running);
        // The second task is called, but it is dropped before it can respond.
        drop(second);
        let turn = poll(&mut third).expect("the third one is called");
        assert!(poll(&mut fourth).is_none());
        drop(turn);
        let turn = poll(&mut fourth).expect("the fourth one is called");
        // A task that acquired its tool in the meantime takes the permit first.
        let faster = queue.try_acquire();
        assert!(faster.is_some() && turn.take().is_none());
        let mut last = wait(&queue, "a");
        drop(faster);
        assert!(poll(&mut last).is_some_and(|turn| turn.take().is_some()));
    }
}
