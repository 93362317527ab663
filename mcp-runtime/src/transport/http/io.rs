//! A socket that gives up on slow clients: on heads that trickle in, and on answers that are not read.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// Whether requests of a connection are being served.
#[derive(Debug, Default)]
pub(super) struct Activity(AtomicUsize);

impl Activity {
    pub(super) fn is_busy(&self) -> bool {
        self.0.load(Ordering::Acquire) > 0
    }

    /// A request is served until this is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> Busy {
        self.0.fetch_add(1, Ordering::AcqRel);
        Busy(Arc::clone(self))
    }
}

/// A request is being served.
#[derive(Debug)]
pub(super) struct Busy(Arc<Activity>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// How long a client may take for what.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// Between a response and the next request.
    pub(super) idle: Duration,
    /// From the first byte of a head, or of a connection, to the end of the head.
    pub(super) head: Duration,
    /// To take what it is sent.
    pub(super) unread: Duration,
}

/// A socket with clocks.
pub(super) struct Timed<S> {
    socket: S,
    activity: Arc<Activity>,
    patience: Patience,
    /// Whether a head has begun to come.
    has_begun: bool,
    /// Until when the rest of it must come, or the first of the next one, if that is waited for.
    due: Option<Instant>,
    reading: Alarm,
    /// Since when nothing is taken.
    blocked: Option<Instant>,
    writing: Alarm,
}

const IDLE: &str = "the client sends no further request";
const SLOW: &str = "the head of a request comes too slowly";
const UNREAD: &str = "the client does not read what it is sent";

/// Goes off at a time that may be moved further away at no cost: it looks again when it would have gone off before. Nor does
/// it cost much to ask again from the same task.
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

/// Later than any limit, if that is too far away for a clock.
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

    /// Lets a write wait only so long.
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
                // Its time begins when more has to be waited for: most heads come whole.
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
        // Over TLS there is a last thing to say.
        let polled = Pin::new(&mut self.socket).poll_shutdown(cx);
        self.written(cx, polled)
    }
}
