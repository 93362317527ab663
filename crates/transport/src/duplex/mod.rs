//! A multiplexed channel, with newline-delimited messages in both directions and any number of concurrent calls.
//!
//! A channel is a state machine behind one lock, which is never held while user code runs. A *leader* task advances it
//! (`lead`): it takes a line, decides what to do, polls a call once in place, writes, and reads. A call that has not
//! finished after its first poll is moved to a separate task, which is owned by the call table. All
//! output is appended to a single queue (`outgoing`) under the lock. This file opens a channel, monitors its deadlines,
//! and ends it.

mod calls;
#[cfg(fuzzing)]
pub mod fuzzing;
mod lead;
mod lines;
mod outgoing;
#[cfg(test)]
pub(super) mod tests;

use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Poll, Waker};
use std::time::Duration;

use mcp_core::context::current;
use mcp_core::dispatch::{CallTable, ChannelMemory, Dispatcher, RemovedCall};
use mcp_core::limits::Limits;
use mcp_core::observe::{Origin, current_span};
use mcp_core::spawn;
use mcp_core::sync::{Bell, CancellationToken, lock};
use mcp_protocol::jsonrpc::{OwnedRequest, RequestId};
use mcp_protocol::{encode, errors};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use tracing::Span;

use crate::Connection;
use crate::duplex::lines::LineReader;
use crate::duplex::outgoing::OutgoingBytes;
use crate::watchdog::{HandlerBeat, SupervisedChannel, WatchdogWaker};

/// Time allowed for writing the last bytes after all work has been dropped.
const LAST_BYTES: Duration = Duration::from_millis(500);

type ByteReader = Box<dyn AsyncRead + Send + Unpin>;

type ByteWriter = Box<dyn AsyncWrite + Send + Unpin>;

/// A channel.
struct Channel {
    dispatcher: Arc<Dispatcher>,
    /// `true` if the channel continues after lines that are not JSON.
    forgiving: bool,
    origin: Origin,
    /// The span in which the channel is served.
    span: Span,
    state: Mutex<ChannelState>,
    runtime: Handle,
    watchdog: Arc<WatchdogWaker>,
    beat: HandlerBeat,
    /// Set when the session has notifications to send.
    notifications: Arc<AtomicBool>,
    /// Wakes the leader.
    leader: Arc<Bell>,
    /// Signals a change that affects the deadlines.
    attention: Notify,
}

struct ChannelState {
    phase: ClosingPhase,
    /// The number that identifies the current leader.
    leader: u64,
    /// The tasks of all leaders that may still be inside a handler.
    leaders: Vec<AbortHandle>,
    /// `true` while the leader is waiting with its waker in `waker`.
    idle: bool,
    waker: Waker,
    memory: ChannelMemory,
    lines: LineReader,
    in_flight: InFlight,
    out: OutgoingBytes,
    streams: Option<(ByteReader, ByteWriter)>,
    failure: Option<io::Error>,
}

/// A phase in a channel's life cycle.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ClosingPhase {
    Open,
    /// Further requests are refused. Work may continue until this time, or indefinitely if it is `None`.
    Draining(Option<Instant>),
    /// All work has been finished or dropped. Bytes may be written until this time.
    Flushing(Instant),
    Closed,
}

/// Serves a channel until its input ends, the client stops reading, or `shutdown` is cancelled, and then finishes the
/// work in progress. In the meantime, the client's cancellations are still read, but its requests are refused, and open
/// questions have no answer any more.
///
/// Dropping the future drops all of the channel's calls.
///
/// # Errors
///
/// Fails if reading or writing fails for any reason other than a disconnected client, or if the client stops reading
/// for too long.
pub(crate) async fn serve(
    dispatcher: Arc<Dispatcher>,
    connection: Connection,
    watchdog: Arc<WatchdogWaker>,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let channel = Channel::open(dispatcher, connection, watchdog);
    let ends = CloseOnDrop(Arc::clone(&channel));
    channel
        .watchdog
        .watch_channel(Arc::downgrade(&channel) as _);
    channel.spawn_leader(0);
    let mut stopping = false;
    loop {
        let deadline = match channel.check_deadlines() {
            DeadlineCheck::Closed => break,
            DeadlineCheck::Next(deadline) => deadline,
        };
        tokio::select! {
            () = channel.attention.notified() => {}
            () = shutdown.cancelled(), if !stopping => {
                stopping = true;
                channel.drain();
            }
            () = tokio::time::sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {}
        }
    }
    let failure = channel.lock().failure.take();
    drop(ends);
    failure.map_or(Ok(()), Err)
}

/// Result of checking the deadlines.
enum DeadlineCheck {
    Closed,
    /// Check again at this time or after a change.
    Next(Option<Instant>),
}

/// Ends a channel when dropped.
struct CloseOnDrop(Arc<Channel>);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        let (calls, leaders, streams) = {
            let mut state = self.0.lock();
            state.phase = ClosingPhase::Closed;
            (
                state.in_flight.cancel_all(),
                std::mem::take(&mut state.leaders),
                state.streams.take(),
            )
        };
        calls.iter().for_each(RemovedCall::abort);
        for leader in leaders {
            leader.abort();
        }
        drop(streams);
    }
}

impl Channel {
    fn open(
        dispatcher: Arc<Dispatcher>,
        connection: Connection,
        watchdog: Arc<WatchdogWaker>,
    ) -> Arc<Self> {
        let Connection {
            reader,
            writer,
            forgiving,
            origin,
            caller,
        } = connection;
        let notifications = Arc::new(AtomicBool::new(false));
        let leader = Arc::new(Bell::default());
        let wake = {
            let (notifications, leader) = (Arc::clone(&notifications), Arc::clone(&leader));
            move || {
                notifications.store(true, std::sync::atomic::Ordering::SeqCst);
                leader.wake();
            }
        };
        let mut memory = ChannelMemory::new(&dispatcher, Arc::new(wake));
        memory.set_caller(caller);
        let state = ChannelState {
            phase: ClosingPhase::Open,
            leader: 0,
            leaders: Vec::new(),
            idle: false,
            waker: Waker::noop().clone(),
            memory,
            lines: LineReader::new(dispatcher.limits().message.max_line_bytes),
            in_flight: InFlight::default(),
            out: OutgoingBytes::default(),
            streams: Some((reader, writer)),
            failure: None,
        };
        Arc::new(Self {
            dispatcher,
            forgiving,
            origin,
            span: current_span(),
            state: Mutex::new(state),
            runtime: Handle::current(),
            watchdog,
            beat: HandlerBeat::default(),
            notifications,
            leader,
            attention: Notify::new(),
        })
    }

    fn limits(&self) -> &Limits {
        self.dispatcher.limits()
    }

    fn lock(&self) -> MutexGuard<'_, ChannelState> {
        lock(&self.state)
    }

    fn spawn_leader(self: &Arc<Self>, leader: u64) {
        let channel = Arc::clone(self);
        // The lock is held until the task is recorded, so code that ends the channel either finds the task or has
        // already run.
        let mut state = self.lock();
        if state.phase == ClosingPhase::Closed {
            return;
        }
        let task = self.runtime.spawn(async move {
            let mut leading = pin!(lead::run_leader(&channel, leader));
            poll_fn(|cx| {
                let poll = || channel.span.in_scope(|| leading.as_mut().poll(cx));
                spawn::catch(poll).unwrap_or_else(|_| {
                    let error = io::Error::other("the channel's leader panicked");
                    channel.lock().fail(error);
                    channel.attention.notify_one();
                    Poll::Ready(())
                })
            })
            .await;
        });
        state.leaders.retain(|leader| !leader.is_finished());
        state.leaders.push(task.abort_handle());
    }

    /// Checks the deadlines and handles those that have passed.
    fn check_deadlines(&self) -> DeadlineCheck {
        let now = Instant::now();
        let stalled = self.limits().streams.stall_timeout;
        let mut dropped = Vec::new();
        let clocks = {
            let mut state = self.lock();
            if let ClosingPhase::Draining(Some(deadline)) = state.phase
                && deadline <= now
            {
                dropped = state.refuse_all();
                state.phase = ClosingPhase::Flushing(now + LAST_BYTES);
                self.leader.wake();
            }
            let blocked = state.out.blocked_since();
            // An unlimited timeout does not set a deadline.
            let blocked = blocked.and_then(|since| since.checked_add(stalled));
            if blocked.is_some_and(|deadline| deadline <= now) {
                let text = "the client is not reading the data sent to it";
                state.fail(io::Error::new(io::ErrorKind::TimedOut, text));
            }
            match state.phase {
                ClosingPhase::Flushing(deadline) if deadline <= now => {
                    state.phase = ClosingPhase::Closed;
                    DeadlineCheck::Closed
                }
                ClosingPhase::Closed => DeadlineCheck::Closed,
                ClosingPhase::Open => DeadlineCheck::Next(blocked),
                ClosingPhase::Draining(deadline) => {
                    DeadlineCheck::Next(deadline.into_iter().chain(blocked).min())
                }
                ClosingPhase::Flushing(deadline) => {
                    DeadlineCheck::Next(Some(blocked.map_or(deadline, |other| deadline.min(other))))
                }
            }
        };
        dropped.iter().for_each(RemovedCall::abort);
        clocks
    }

    /// Refuses further requests but lets work in progress finish.
    fn drain(&self) {
        let mut state = self.lock();
        if state.phase == ClosingPhase::Open {
            self.begin_drain(&mut state);
        }
        drop(state);
        self.leader.wake();
    }

    fn begin_drain(&self, state: &mut ChannelState) {
        state.phase =
            ClosingPhase::Draining(Instant::now().checked_add(self.limits().calls.drain_timeout));
        state.memory.end_requests(state.out.buffer());
        self.watchdog.stop_watching();
        self.attention.notify_one();
    }
}

impl ChannelState {
    /// Fails all in-flight calls with an error.
    fn refuse_all(&mut self) -> Vec<RemovedCall<Option<BatchId>>> {
        let calls = self.in_flight.cancel_all();
        let error = errors::shutting_down();
        let mut message = Vec::new();
        for removed in &calls {
            message.clear();
            encode::error(&mut message, Some(&removed.id), &error);
            self.queue_answer_bytes(removed.detail.flatten(), &message);
        }
        calls
    }

    /// Queues an answer, either on its own or as part of its batch. An empty answer means that the call has no answer.
    fn queue_answer_bytes(&mut self, batch: Option<BatchId>, answer: &[u8]) {
        match batch {
            None if answer.is_empty() => {}
            None => self.out.push(answer),
            Some(batch) => {
                if let Some(line) = self.in_flight.complete_batch_call(batch, answer) {
                    self.out.push(&line);
                }
            }
        }
    }

    /// Stops reading from a client that does not follow the protocol.
    fn stop_reading(&mut self) {
        let text = "the client sent input that is not JSON";
        self.failure = Some(io::Error::new(io::ErrorKind::InvalidData, text));
        self.lines.abandon_line();
    }

    /// Ends the channel. A disconnected client does not count as a failure.
    fn fail(&mut self, error: io::Error) {
        use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, WriteZero};
        let gone = [BrokenPipe, ConnectionAborted, ConnectionReset, WriteZero];
        if self.phase != ClosingPhase::Closed && !gone.contains(&error.kind()) {
            self.failure = Some(error);
        }
        self.phase = ClosingPhase::Closed;
    }

    /// Writes immediately unless the leader is about to write.
    fn poll_output_if_idle(&mut self, attention: &Notify) {
        if self.idle {
            let waker = self.waker.clone();
            self.poll_output(&mut std::task::Context::from_waker(&waker), attention);
        }
    }

    /// Writes as much as the client accepts. Returns `true` if everything has been written.
    fn poll_output(&mut self, cx: &mut std::task::Context<'_>, attention: &Notify) -> bool {
        let Some((_, writer)) = &mut self.streams else {
            return false;
        };
        let was_blocked = self.out.blocked_since();
        // If a custom stream logs an event, the event must not be queued as a message from the call that is writing.
        match current::outside_calls(|| self.out.poll_write(writer, cx)) {
            Poll::Ready(Ok(())) => true,
            Poll::Ready(Err(error)) => {
                self.fail(error);
                attention.notify_one();
                false
            }
            Poll::Pending => {
                if was_blocked != self.out.blocked_since() {
                    attention.notify_one();
                }
                false
            }
        }
    }
}

impl SupervisedChannel for Channel {
    fn beat(&self) -> &HandlerBeat {
        &self.beat
    }

    fn replace_stuck_leader(self: Arc<Self>, seen: u64) {
        let leader = {
            let mut state = self.lock();
            if self.beat.leader_beat() != seen || state.phase == ClosingPhase::Closed {
                return;
            }
            self.beat.replace_leader();
            state.leader = state.leader.wrapping_add(1);
            state.leader
        };
        self.spawn_leader(leader);
    }
}

// --- A channel's work: its running and queued calls, and the answers in unfinished batches.

/// A call that is queued, or that starts in its task.
#[derive(Debug)]
pub(super) struct QueuedCall {
    pub(super) serial: u64,
    pub(super) request: OwnedRequest,
}

impl QueuedCall {
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
struct InFlight {
    /// The running and queued calls, each with the batch to which it belongs, if any.
    pub(super) calls: CallTable<Option<BatchId>>,
    queue: VecDeque<QueuedCall>,
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

    pub(super) fn enqueue(&mut self, queued: QueuedCall) {
        self.queued_bytes = self
            .queued_bytes
            .saturating_add(queued.request.text_bytes());
        self.queue.push_back(queued);
    }

    pub(super) fn dequeue(&mut self) -> Option<QueuedCall> {
        let queued = self.queue.pop_front()?;
        self.queued_bytes = self
            .queued_bytes
            .saturating_sub(queued.request.text_bytes());
        Some(queued)
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
        if let Some(position) = self.queue.iter().position(|queued| queued.serial == serial)
            && let Some(queued) = self.queue.remove(position)
        {
            self.queued_bytes = self
                .queued_bytes
                .saturating_sub(queued.request.text_bytes());
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
    fn complete_batch_call(&mut self, id: BatchId, answer: &[u8]) -> Option<Vec<u8>> {
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
