//! What is sent: a message that is known whole, or events as they come.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::time::{Instant, Sleep};

use super::events::KEEP_ALIVE;
use super::io::Busy;
use super::places::Place;

/// Where the events of a response come from. Dropped when the client goes away.
pub(super) trait Events: Send {
    /// Appends events that are there; `false` says that there will be no more. Appends something if it is ready and
    /// `true`.
    fn poll_events(&mut self, cx: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<bool>;
}

/// The body of a response.
pub struct HttpBody {
    inner: Inner,
    /// Says that the connection is busy as long as the body is there.
    busy: Option<Busy>,
    /// Its place among the streams that may be open at once.
    place: Option<Place>,
}

enum Inner {
    Whole(Option<Bytes>),
    /// One message in parts that are not empty, the next one last.
    Parts(Vec<Bytes>),
    Events(Box<Stream>),
}

struct Stream {
    /// None once it has ended.
    events: Option<Box<dyn Events>>,
    keep_alive: Duration,
    silence: Pin<Box<Sleep>>,
    /// When it is over, whatever may still come.
    end: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl HttpBody {
    fn new(inner: Inner) -> Self {
        Self {
            inner,
            busy: None,
            place: None,
        }
    }

    pub(super) fn empty() -> Self {
        Self::new(Inner::Whole(None))
    }

    pub(super) fn whole(bytes: Vec<u8>) -> Self {
        Self::new(Inner::Whole(Some(bytes.into())))
    }

    /// A message that is known whole, in parts.
    pub(super) fn parts(parts: [Bytes; 3]) -> Self {
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        Self::new(Inner::Parts(parts.rev().collect()))
    }

    /// Events, with a comment whenever there was none for `keep_alive`.
    pub(super) fn events(events: impl Events + 'static, keep_alive: Duration) -> Self {
        Self::new(Inner::Events(Box::new(Stream {
            events: Some(Box::new(events)),
            keep_alive,
            silence: Box::pin(tokio::time::sleep(keep_alive)),
            end: None,
        })))
    }

    /// Ends a stream of events when what `end` makes does. What is known whole is sent all the same.
    pub(super) fn end_with<F>(&mut self, end: impl FnOnce() -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        if let Inner::Events(stream) = &mut self.inner {
            stream.end = Some(Box::pin(end()));
        }
    }

    /// Occupies a place among the streams that may be open at once, until the body is gone.
    pub(super) fn occupy(&mut self, place: Place) {
        self.place = Some(place);
    }

    /// Keeps the connection busy until the body is gone.
    pub(super) fn hold(&mut self, busy: Busy) {
        self.busy = Some(busy);
    }
}

impl Body for HttpBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let stream = match &mut self.inner {
            Inner::Whole(bytes) => {
                return Poll::Ready(bytes.take().map(|all| Ok(Frame::data(all))));
            }
            Inner::Parts(parts) => {
                return Poll::Ready(parts.pop().map(|part| Ok(Frame::data(part))));
            }
            Inner::Events(stream) => stream,
        };
        // First, because there may always be another event.
        if let Some(end) = &mut stream.end
            && end.as_mut().poll(cx).is_ready()
        {
            stream.events = None;
            stream.end = None;
        }
        let Some(events) = &mut stream.events else {
            return Poll::Ready(None);
        };
        let mut out = Vec::new();
        match events.poll_events(cx, &mut out) {
            Poll::Ready(more) => {
                if !more {
                    stream.events = None;
                    if out.is_empty() {
                        return Poll::Ready(None);
                    }
                }
                let silence = Instant::now() + stream.keep_alive;
                stream.silence.as_mut().reset(silence);
                return Poll::Ready(Some(Ok(Frame::data(out.into()))));
            }
            Poll::Pending => {}
        }
        if stream.silence.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        let silence = Instant::now() + stream.keep_alive;
        stream.silence.as_mut().reset(silence);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(KEEP_ALIVE)))))
    }

    fn is_end_stream(&self) -> bool {
        match &self.inner {
            Inner::Whole(bytes) => bytes.is_none(),
            Inner::Parts(parts) => parts.is_empty(),
            Inner::Events(stream) => stream.events.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.inner {
            Inner::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            Inner::Parts(parts) => {
                SizeHint::with_exact(parts.iter().map(|part| part.len() as u64).sum())
            }
            Inner::Events(_) => SizeHint::default(),
        }
    }
}

impl fmt::Debug for HttpBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpBody").finish_non_exhaustive()
    }
}
