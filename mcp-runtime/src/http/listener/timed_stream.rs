//! A socket that disconnects clients that send their request headers too slowly or do not read responses.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use crate::budget::ByteBudget;
use crate::http::response::body::ConnectionActivity;
use crate::http::timers::{Alarm, instant_after};

/// Time limits for a client.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConnectionTimeouts {
    /// Maximum time between a response and the next request.
    pub(super) idle: Duration,
    /// Maximum time from the first byte of the request headers, or from the start of the connection, to the end of the
    /// headers.
    pub(super) headers: Duration,
    /// Maximum time that may pass without the client accepting any bytes sent to it.
    pub(super) unread: Duration,
}

/// A socket with time limits.
pub(super) struct TimedSocket<S> {
    socket: S,
    activity: Arc<ConnectionActivity>,
    patience: ConnectionTimeouts,
    /// What all clients have not yet read.
    unsent: Arc<ByteBudget>,
    /// `true` once request headers have begun to arrive.
    has_begun: bool,
    /// Deadline for the rest of the headers or for the first byte of the next request, while waiting for either.
    due: Option<Instant>,
    reading: Alarm,
    /// Time at which the client stopped accepting bytes, or `None` while it accepts them.
    blocked: Option<Instant>,
    writing: Alarm,
}

/// Maximum time that may pass without the client accepting any bytes if there is little room for what clients have not
/// yet read.
const HURRY: Duration = Duration::from_secs(5);
/// Interval at which a connection that has waited for so long looks whether there is little room.
const LOOK: Duration = Duration::from_secs(1);

const IDLE: &str = "the client sent no further request in time";
const SLOW: &str = "the headers of a request are arriving too slowly";
const UNREAD: &str = "the client is not reading the data sent to it";

fn timeout_error<T>(what: &'static str) -> Poll<io::Result<T>> {
    Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, what)))
}

impl<S> TimedSocket<S> {
    pub(super) fn new(
        socket: S,
        activity: Arc<ConnectionActivity>,
        (patience, unsent): (ConnectionTimeouts, Arc<ByteBudget>),
    ) -> Self {
        Self {
            socket,
            activity,
            patience,
            unsent,
            has_begun: true,
            due: Some(instant_after(Instant::now(), patience.headers)),
            reading: Alarm::default(),
            blocked: None,
            writing: Alarm::default(),
        }
    }

    /// Limits how long a write may wait: less long if there is little room for what clients have not yet read.
    fn track_write<T>(
        &mut self,
        cx: &mut Context<'_>,
        polled: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.blocked = None;
            return polled;
        }
        let since = *self.blocked.get_or_insert_with(Instant::now);
        let last = instant_after(since, self.patience.unread);
        loop {
            let now = Instant::now();
            let is_over = now >= last || now >= since + HURRY && self.unsent.is_scarce();
            if is_over {
                return timeout_error(UNREAD);
            }
            let next_look = (since + HURRY).max(now + LOOK).min(last);
            ready!(self.writing.poll(next_look, cx));
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedSocket<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buffer.filled().len();
        let polled = Pin::new(&mut this.socket).poll_read(cx, buffer);
        if this.activity.is_busy() {
            (this.has_begun, this.due) = (false, None);
            return polled;
        }
        if polled.is_ready() {
            if buffer.filled().len() > before && !this.has_begun {
                // Most headers arrive all at once, so the time limit starts only when the socket must wait for more
                // data.
                (this.has_begun, this.due) = (true, None);
            }
            return polled;
        }
        let (time, what) = if this.has_begun {
            (this.patience.headers, SLOW)
        } else {
            (this.patience.idle, IDLE)
        };
        let begin = || instant_after(Instant::now(), time);
        let due = *this.due.get_or_insert_with(begin);
        ready!(this.reading.poll(due, cx));
        timeout_error(what)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimedSocket<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.socket).poll_write(cx, bytes);
        self.track_write(cx, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.socket).poll_write_vectored(cx, slices);
        self.track_write(cx, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.socket).poll_flush(cx);
        self.track_write(cx, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Over TLS, shutting down writes a closing message.
        let polled = Pin::new(&mut self.socket).poll_shutdown(cx);
        self.track_write(cx, polled)
    }
}
