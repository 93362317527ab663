//! A socket that gives up on slow clients: on heads that trickle in, and on answers that are not read.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
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

/// A socket with clocks.
pub(super) struct Timed<S> {
    socket: S,
    activity: Arc<Activity>,
    head: Clock,
    unread: Clock,
}

/// Runs out some time after it was started.
struct Clock {
    time: Duration,
    running: bool,
    sleep: Pin<Box<Sleep>>,
}

impl Clock {
    fn new(time: Duration) -> Self {
        Self {
            time,
            running: false,
            sleep: Box::pin(tokio::time::sleep(time)),
        }
    }

    /// Starts, unless it runs.
    fn start(&mut self) {
        if !self.running {
            self.running = true;
            self.sleep.as_mut().reset(Instant::now() + self.time);
        }
    }

    fn stop(&mut self) {
        self.running = false;
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.running {
            self.sleep.as_mut().poll(cx)
        } else {
            Poll::Pending
        }
    }
}

impl<S> Timed<S> {
    /// A head must come within `head` of its first byte, the first one within that of now; what is sent must be read
    /// within `unread`.
    pub(super) fn new(
        socket: S,
        activity: Arc<Activity>,
        head: Duration,
        unread: Duration,
    ) -> Self {
        let mut head = Clock::new(head);
        head.start();
        Self {
            socket,
            activity,
            head,
            unread: Clock::new(unread),
        }
    }

    /// Lets a write wait only so long.
    fn written<T>(
        &mut self,
        cx: &mut Context<'_>,
        polled: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.unread.stop();
            return polled;
        }
        self.unread.start();
        ready!(self.unread.poll(cx));
        let text = "the client does not read what it is sent";
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, text)))
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
            this.head.stop();
            return polled;
        }
        if polled.is_ready() {
            if buffer.filled().len() > before {
                this.head.start();
            }
            return polled;
        }
        ready!(this.head.poll(cx));
        let text = "the head of a request comes too slowly";
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, text)))
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
