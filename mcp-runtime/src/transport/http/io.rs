//! A socket that gives up on slow clients: those whose request headers trickle in, and those that do not read responses.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// Number of requests of a connection that are being served.
#[derive(Debug, Default)]
pub(super) struct Activity(AtomicUsize);

impl Activity {
    pub(super) fn is_busy(&self) -> bool {
        self.0.load(Ordering::Acquire) > 0
    }

    /// Marks a request as being served until the result is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> Busy {
        self.0.fetch_add(1, Ordering::AcqRel);
        Busy(Arc::clone(self))
    }
}

/// A request that is being served.
#[derive(Debug)]
pub(super) struct Busy(Arc<Activity>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Time limits for a client.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// Between a response and the next request.
    pub(super) idle: Duration,
    /// From the first byte of the request headers, or from the start of the connection, to the end of the headers.
    pub(super) head: Duration,
    /// For accepting the bytes that it is sent.
    pub(super) unread: Duration,
}

/// A socket with time limits.
pub(super) struct Timed<S> {
    socket: S,
    activity: Arc<Activity>,
    patience: Patience,
    /// `true` once request headers have begun to arrive.
    has_begun: bool,
    /// Deadline for the rest of the headers, or for the first byte of the next request, while that is waited for.
    due: Option<Instant>,
    reading: Alarm,
    /// Start of the time in which the client accepts no bytes; `None` while it accepts them.
    blocked: Option<Instant>,
    writing: Alarm,
}

const IDLE: &str = "the client sent no further request in time";
const SLOW: &str = "the headers of a request arrive too slowly";
const UNREAD: &str = "the client does not read what it is sent";

/// A timer whose deadline may be moved to a later time at no cost: it checks again when the earlier deadline is
/// reached. Polling it again from the same task is also cheap.
#[derive(Default)]
pub(super) struct Alarm(Option<(Pin<Box<Sleep>>, Waker)>);

impl Alarm {
    pub(super) fn poll(&mut self, due: Instant, cx: &mut Context<'_>) -> Poll<()> {
        let sleep = || Box::pin(tokio::time::sleep_until(due));
        let begin = || (sleep(), Waker::noop().clone());
        let (sleep, waker) = self.0.get_or_insert_with(begin);
        if sleep.deadline() > due {
            sleep.as_mut().reset(due);
        }
        if waker.will_wake(cx.waker()) && !sleep.is_elapsed() {
            return Poll::Pending;
        }
        waker.clone_from(cx.waker());
        while sleep.as_mut().poll(cx).is_ready() {
            if Instant::now() >= due {
                return Poll::Ready(());
            }
            sleep.as_mut().reset(due);
        }
        Poll::Pending
    }
}

fn late<T>(what: &'static str) -> Poll<io::Result<T>> {
    Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, what)))
}

/// Returns the end of a time limit; a year from now, later than any limit, if it is too far away for a clock.
pub(super) fn after(now: Instant, time: Duration) -> Instant {
    let far = || now + Duration::from_hours(24 * 365);
    now.checked_add(time).unwrap_or_else(far)
}

impl<S> Timed<S> {
    pub(super) fn new(socket: S, activity: Arc<Activity>, patience: Patience) -> Self {
        Self {
            socket,
            activity,
            patience,
            has_begun: true,
            due: Some(after(Instant::now(), patience.head)),
            reading: Alarm::default(),
            blocked: None,
            writing: Alarm::default(),
        }
    }

    /// Limits the time that a write may wait.
    fn written<T>(
        &mut self,
        cx: &mut Context<'_>,
        polled: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.blocked = None;
            return polled;
        }
        let since = *self.blocked.get_or_insert_with(Instant::now);
        ready!(self.writing.poll(after(since, self.patience.unread), cx));
        late(UNREAD)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Timed<S> {
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
                // Its time begins when more has to be waited for: most headers arrive whole.
                (this.has_begun, this.due) = (true, None);
            }
            return polled;
        }
        let (time, what) = if this.has_begun {
            (this.patience.head, SLOW)
        } else {
            (this.patience.idle, IDLE)
        };
        let begin = || after(Instant::now(), time);
        let due = *this.due.get_or_insert_with(begin);
        ready!(this.reading.poll(due, cx));
        late(what)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Timed<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.socket).poll_write(cx, bytes);
        self.written(cx, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.socket).poll_write_vectored(cx, slices);
        self.written(cx, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.socket).poll_flush(cx);
        self.written(cx, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Over TLS, a closing message is written.
        let polled = Pin::new(&mut self.socket).poll_shutdown(cx);
        self.written(cx, polled)
    }
}
