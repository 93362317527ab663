//! Chooses the leader's next action on a channel, in order of priority.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::task::{Context, Poll};

use bytes::BytesMut;
use mcp_core::context::current;
use mcp_core::observe::RefusalKind;
use mcp_protocol::jsonrpc::{ErrorObject, KnownMeta};

use crate::duplex::lines::{LineReader, NextLine};
use crate::duplex::{Channel, ChannelState, ClosingPhase, QueuedCall};

/// Number of lines after which the leader yields. On a current-thread runtime, a busy client would otherwise starve
/// other tasks.
const LINES_PER_TURN: u32 = 64;

/// A buffer larger than this is freed after each message.
const MAX_KEPT_BUFFER_BYTES: usize = 64 << 10;

/// The leader's next action.
#[allow(
    clippy::large_enum_variant,
    reason = "lives on the stack of the leader; boxing would cost an allocation per queued call"
)]
enum LeaderStep {
    /// Handle the line that was read.
    Line(NextLine),
    /// Start a queued call.
    Queued(QueuedCall),
    /// Wait for work.
    Wait,
    /// Stop because another task is the leader or the channel is closed.
    Over,
}

/// Leads the channel until it is closed or another task becomes the leader.
pub(super) async fn run_leader(channel: &Arc<Channel>, leader: u64) {
    let mut line = BytesMut::new();
    let mut known = KnownMeta::default();
    let mut scratch = Vec::new();
    poll_fn(|cx| {
        for _ in 0..LINES_PER_TURN {
            match channel.next_step(leader, &mut line, cx) {
                LeaderStep::Line(NextLine::Text) => {
                    let handle = || channel.handle_line(leader, &line, &mut known, &mut scratch);
                    channel.origin.run_as_current(handle);
                }
                LeaderStep::Line(NextLine::TooLong) => {
                    channel.origin.record_refusal(RefusalKind::TooLarge);
                    let limit = channel.limits().message.max_line_bytes;
                    let text = format!("a message is longer than {limit} bytes");
                    let error = ErrorObject::invalid_request(text);
                    channel.answer_error(None, None, &error);
                }
                LeaderStep::Queued(queued) => {
                    let start = || channel.start_queued(leader, queued, &mut scratch);
                    channel.origin.run_as_current(start);
                }
                LeaderStep::Wait => return Poll::Pending,
                LeaderStep::Over => return Poll::Ready(()),
            }
            LineReader::release(&mut line);
            if scratch.capacity() > MAX_KEPT_BUFFER_BYTES {
                scratch = Vec::new();
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

impl Channel {
    fn next_step(&self, leader: u64, line: &mut BytesMut, cx: &mut Context<'_>) -> LeaderStep {
        let mut guard = self.lock();
        let state = &mut *guard;
        loop {
            if state.leader != leader || state.phase == ClosingPhase::Closed {
                return LeaderStep::Over;
            }
            state.idle = false;
            if state.in_flight.queued_calls() > 0
                && self.may_run(state)
                && let Some(queued) = state.in_flight.dequeue()
            {
                return LeaderStep::Queued(queued);
            }
            let reads = self.may_read(state);
            if reads {
                if !self.forgiving && !state.lines.may_be_messages() {
                    state.stop_reading();
                }
                if let Some(kind) = state.lines.next(line) {
                    return LeaderStep::Line(kind);
                }
                if state.lines.is_ended() && state.phase == ClosingPhase::Open {
                    self.begin_drain(state);
                    continue;
                }
            }
            self.queue_notifications(state);
            let written = state.poll_output(cx, &self.attention);
            if state.phase == ClosingPhase::Closed {
                continue;
            }
            if written && Self::is_connection_over(state) {
                state.phase = ClosingPhase::Closed;
                self.attention.notify_one();
                continue;
            }
            // Writing may have made room for queued calls.
            if (state.in_flight.queued_calls() > 0 && self.may_run(state))
                || (!reads && self.may_read(state))
            {
                continue;
            }
            if reads && !state.lines.is_ended() && Self::poll_input(state, cx).is_ready() {
                continue;
            }
            if !state.waker.will_wake(cx.waker()) {
                state.waker.clone_from(cx.waker());
            }
            state.idle = true;
            self.leader.register(cx.waker());
            // A notification may have arrived before the waker was registered.
            if self.notifications.load(SeqCst) && self.may_notify(state) {
                continue;
            }
            return LeaderStep::Wait;
        }
    }

    /// Performs a single read. Returns `Ready` if the input must be examined again.
    fn poll_input(state: &mut ChannelState, cx: &mut Context<'_>) -> Poll<()> {
        let Some((reader, _)) = &mut state.streams else {
            return Poll::Pending;
        };
        match current::outside_calls(|| state.lines.poll_read(reader, cx)) {
            Poll::Ready(Ok(())) => Poll::Ready(()),
            Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {
                Poll::Ready(())
            }
            Poll::Ready(Err(error)) => {
                if error.kind() != io::ErrorKind::ConnectionReset {
                    state.failure = Some(error);
                }
                state.lines.end();
                Poll::Ready(())
            }
            Poll::Pending => Poll::Pending,
        }
    }

    /// Returns `true` if another call may be run now.
    pub(super) fn may_run(&self, state: &ChannelState) -> bool {
        let limits = self.limits();
        state.in_flight.running < limits.calls.max_running
            && state.out.len() < limits.streams.max_outgoing_bytes / 2
    }

    /// Returns `true` if another line may be handled. Reading is paused only if the client does not read its output,
    /// never because of slow calls.
    fn may_read(&self, state: &ChannelState) -> bool {
        let limits = self.limits();
        let (waiting, max) = (state.out.len(), limits.streams.max_outgoing_bytes);
        let is_full = || {
            state.in_flight.queued_calls() >= limits.calls.max_queued
                || state.in_flight.queued_bytes() >= limits.message.max_line_bytes
        };
        let is_wanted = matches!(state.phase, ClosingPhase::Open | ClosingPhase::Draining(_));
        is_wanted && waiting < max && (waiting < max / 2 || !is_full())
    }

    fn may_notify(&self, state: &ChannelState) -> bool {
        state.phase == ClosingPhase::Open
            && state.out.len() < self.limits().streams.max_outgoing_bytes / 2
    }

    /// Queues as many notifications as will fit.
    fn queue_notifications(&self, state: &mut ChannelState) {
        if self.may_notify(state) && self.notifications.swap(false, SeqCst) {
            let room = self.limits().streams.max_outgoing_bytes / 2;
            let (queue, before) = state.out.unwritten();
            let all_sent = state.memory.drain(queue, room.saturating_sub(before));
            if !all_sent {
                self.notifications.store(true, SeqCst);
            }
        }
    }

    /// Returns `true` if there is no work left.
    fn is_connection_over(state: &ChannelState) -> bool {
        match state.phase {
            ClosingPhase::Open => false,
            ClosingPhase::Draining(_) => state.in_flight.is_empty(),
            ClosingPhase::Flushing(_) | ClosingPhase::Closed => true,
        }
    }
}
