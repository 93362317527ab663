//! Response bodies: a complete message, or events as they arrive; and whether a connection is busy with one.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::budget::Charge;
use crate::cancellation::CancellationToken;
use crate::context::Principal;
use crate::http::response::sse::KEEP_ALIVE;
use crate::http::timers::{Alarm, ShutdownPoll, instant_after};
use crate::limits::Limits;
use crate::lock::lock;
use crate::observe::{RefusalKind, record_refusal};

/// The body of a response.
pub struct HttpBody {
    content: BodyContent,
    /// Marks the connection as busy while the body exists.
    busy: Option<BusyGuard>,
    /// The permit for an open stream.
    permit: Option<StreamPermit>,
}

enum BodyContent {
    Whole(Option<Bytes>),
    /// The non-empty parts of a message, in reverse order.
    Parts(Vec<Bytes>),
    Events(Box<EventBody>),
}

/// Messages of at least this size are counted as long as they have not been sent. All that is smaller fits into the
/// buffer of a connection, whose size is limited.
const COUNTED_MESSAGE: usize = 4 << 10;
/// The same for the events that are sent together.
const COUNTED_EVENTS: usize = 1 << 10;

struct EventBody {
    /// Counts events that have not been sent.
    unsent: Option<Charge>,
    /// `None` once the stream has ended.
    events: Option<Box<dyn EventSource>>,
    keep_alive: Duration,
    /// Fires when no event has been sent for the duration `keep_alive`.
    silence: Alarm,
    /// Time at which the current silence started.
    since: Instant,
    stopping: ShutdownPoll,
    /// Maximum duration for which the stream continues after shutdown begins, even if more events could follow.
    drain: Duration,
    /// Fires when the `drain` time has elapsed.
    end: Option<(Instant, Alarm)>,
}

impl HttpBody {
    fn new(content: BodyContent) -> Self {
        Self {
            content,
            busy: None,
            permit: None,
        }
    }

    pub(in crate::http) fn empty() -> Self {
        Self::new(BodyContent::Whole(None))
    }

    pub(in crate::http) fn from_bytes(bytes: Vec<u8>) -> Self {
        Self::new(BodyContent::Whole(Some(bytes.into())))
    }

    /// Creates a body for a complete message from the message's parts.
    pub(in crate::http) fn from_parts(parts: [Bytes; 3]) -> Self {
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        Self::new(BodyContent::Parts(parts.rev().collect()))
    }

    /// Creates a body that streams events. A comment is sent after each keep-alive interval without an event. The body
    /// ends no later than the drain timeout after shutdown begins.
    pub(in crate::http) fn from_events(
        events: impl EventSource + 'static,
        limits: &Limits,
        shutdown: &CancellationToken,
    ) -> Self {
        Self::new(BodyContent::Events(Box::new(EventBody {
            unsent: None,
            events: Some(Box::new(events)),
            keep_alive: limits.streams.keep_alive_interval,
            silence: Alarm::default(),
            since: Instant::now(),
            stopping: ShutdownPoll::new(shutdown),
            drain: limits.calls.drain_timeout,
            end: None,
        })))
    }

    /// Counts what the client has not yet read. A body made of parts is not counted, because nearly all of it is shared
    /// with other responses.
    pub(in crate::http) fn count_unsent(&mut self, charge: impl FnOnce() -> Charge) {
        match &mut self.content {
            BodyContent::Whole(Some(bytes)) if bytes.len() >= COUNTED_MESSAGE => {
                *bytes = UnsentBytes::counted(std::mem::take(bytes), charge());
            }
            BodyContent::Events(stream) => stream.unsent = Some(charge()),
            BodyContent::Whole(_) | BodyContent::Parts(_) => {}
        }
    }

    /// Holds a permit for an open stream until the body is dropped.
    pub(in crate::http) fn hold_permit(&mut self, permit: StreamPermit) {
        self.permit = Some(permit);
    }

    /// Keeps the connection busy until the body is dropped.
    pub(in crate::http) fn keep_busy(&mut self, busy: BusyGuard) {
        self.busy = Some(busy);
    }
}

/// Bytes that are counted until the connection has sent them, and then drops them.
struct UnsentBytes {
    bytes: Bytes,
    _charge: Charge,
}

impl UnsentBytes {
    fn counted(bytes: Bytes, mut charge: Charge) -> Bytes {
        charge.resize(bytes.len());
        Bytes::from_owner(Self {
            bytes,
            _charge: charge,
        })
    }
}

impl AsRef<[u8]> for UnsentBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Body for HttpBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let stream = match &mut self.content {
            BodyContent::Whole(bytes) => {
                return Poll::Ready(bytes.take().map(|all| Ok(Frame::data(all))));
            }
            BodyContent::Parts(parts) => {
                return Poll::Ready(parts.pop().map(|part| Ok(Frame::data(part))));
            }
            BodyContent::Events(stream) => stream,
        };
        let Some(events) = &mut stream.events else {
            return Poll::Ready(None);
        };
        let is_stopping = stream.stopping.poll(cx);
        if is_stopping {
            let begin = || {
                (
                    instant_after(Instant::now(), stream.drain),
                    Alarm::default(),
                )
            };
            let (due, end) = stream.end.get_or_insert_with(begin);
            // Checked first, because a steady flow of events would otherwise keep the stream open.
            if end.poll(*due, cx).is_ready() {
                stream.events = None;
                return Poll::Ready(None);
            }
        }
        let mut out = Vec::new();
        let status = events.poll_events(cx, &mut out, is_stopping);
        if status == StreamStatus::Ended {
            stream.events = None;
        }
        let frame = if !out.is_empty() {
            match &mut stream.unsent {
                Some(unsent) if out.len() >= COUNTED_EVENTS => {
                    UnsentBytes::counted(out.into(), unsent.another())
                }
                _ => out.into(),
            }
        } else if status == StreamStatus::Ended {
            return Poll::Ready(None);
        } else {
            let due = instant_after(stream.since, stream.keep_alive);
            ready!(stream.silence.poll(due, cx));
            Bytes::from_static(KEEP_ALIVE)
        };
        stream.since = Instant::now();
        Poll::Ready(Some(Ok(Frame::data(frame))))
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            BodyContent::Whole(bytes) => bytes.is_none(),
            BodyContent::Parts(parts) => parts.is_empty(),
            BodyContent::Events(stream) => stream.events.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            BodyContent::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            BodyContent::Parts(parts) => {
                SizeHint::with_exact(parts.iter().map(|part| part.len() as u64).sum())
            }
            BodyContent::Events(_) => SizeHint::default(),
        }
    }
}

impl fmt::Debug for HttpBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpBody").finish_non_exhaustive()
    }
}

/// Maximum size of the events to append in a single poll, in bytes.
pub(in crate::http) const MAX_POLLED_BYTES: usize = 64 << 10;

/// The source of a response's events, which is dropped when the client disconnects.
pub(in crate::http) trait EventSource: Send {
    /// Appends the available events. If no events are available and the stream continues, the task is woken when more
    /// arrive. Also called when `is_stopping` becomes `true` because shutdown has begun.
    fn poll_events(
        &mut self,
        cx: &mut Context<'_>,
        out: &mut Vec<u8>,
        is_stopping: bool,
    ) -> StreamStatus;
}

/// The state of an event stream after its available events have been appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) enum StreamStatus {
    /// More events may follow.
    Open,
    /// No more events will follow.
    Ended,
}

/// The number of requests being served on a connection, which is idle if there are none.
#[derive(Debug, Default)]
pub(in crate::http) struct ConnectionActivity(AtomicUsize);

impl ConnectionActivity {
    pub(in crate::http) fn is_busy(&self) -> bool {
        self.0.load(Ordering::Acquire) > 0
    }

    /// Marks a request as being served until the returned value is dropped.
    pub(in crate::http) fn mark_busy(self: &Arc<Self>) -> BusyGuard {
        self.0.fetch_add(1, Ordering::AcqRel);
        BusyGuard(Arc::clone(self))
    }
}

/// A request that is being served.
#[derive(Debug)]
pub(in crate::http) struct BusyGuard(Arc<ConnectionActivity>);

impl Drop for BusyGuard {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}

// Permits for event streams that wait for events, limited both in total and for each known caller.

/// Delay after which a caller that has the maximum number of streams may retry.
const RETRY: Duration = Duration::from_secs(10);

/// Permits for event streams.
pub(in crate::http) struct StreamPermits {
    all: Arc<Semaphore>,
    /// Number of permits held by each caller, indexed by the key of the caller's principal.
    taken: Mutex<HashMap<Box<str>, usize>>,
    max_per_principal: usize,
}

/// A permit that is returned to the pool when dropped.
pub(in crate::http) struct StreamPermit {
    _permit: OwnedSemaphorePermit,
    /// The pool and the caller's key, if the caller is known.
    owned: Option<(Arc<StreamPermits>, Box<str>)>,
}

/// The reason why no permit is available.
#[derive(Clone, Copy, Debug)]
pub(in crate::http) enum PermitRefusal {
    /// All of the server's permits are in use.
    Server,
    /// The caller already holds the maximum number of permits and may retry after this delay.
    Caller(Duration),
}

impl StreamPermits {
    pub(in crate::http) fn new(limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            all: Arc::new(Semaphore::new(
                limits.streams.max_open.min(Semaphore::MAX_PERMITS),
            )),
            taken: Mutex::default(),
            max_per_principal: limits.streams.max_per_principal.max(1),
        })
    }

    fn lock_counts(&self) -> MutexGuard<'_, HashMap<Box<str>, usize>> {
        lock(&self.taken)
    }

    /// Takes a permit for one of this caller's streams, if one is available.
    pub(in crate::http) fn acquire(
        self: &Arc<Self>,
        caller: Option<&Principal>,
    ) -> Result<StreamPermit, PermitRefusal> {
        let permit = Arc::clone(&self.all).try_acquire_owned();
        let mut permit = StreamPermit {
            _permit: permit.map_err(|_| PermitRefusal::Server)?,
            owned: None,
        };
        if let Some(principal) = caller {
            let mut taken = self.lock_counts();
            let count = taken.entry(principal.key().into()).or_default();
            if *count >= self.max_per_principal {
                drop(taken);
                record_refusal(RefusalKind::TooMany, None);
                return Err(PermitRefusal::Caller(RETRY));
            }
            *count = count.saturating_add(1);
            permit.owned = Some((Arc::clone(self), principal.key().into()));
        }
        Ok(permit)
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let Some((permits, key)) = &self.owned else {
            return;
        };
        let mut taken = permits.lock_counts();
        if let Some(count) = taken.get_mut(key) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                taken.remove(key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;
    use crate::budget::{ByteBudget, Holder};

    /// Has one event of this size.
    struct OneEvent(usize);

    impl EventSource for OneEvent {
        fn poll_events(&mut self, _: &mut Context<'_>, out: &mut Vec<u8>, _: bool) -> StreamStatus {
            out.resize(self.0, b' ');
            StreamStatus::Ended
        }
    }

    #[tokio::test]
    async fn what_has_not_been_sent_is_counted_if_it_is_large() {
        let (limits, shutdown) = (Limits::default(), CancellationToken::default());
        let whole = |size| HttpBody::from_bytes(vec![b' '; size]);
        let events = |size| HttpBody::from_events(OneEvent(size), &limits, &shutdown);
        for (mut body, size, is_counted) in [
            (whole(COUNTED_MESSAGE - 1), COUNTED_MESSAGE - 1, false),
            (whole(COUNTED_MESSAGE), COUNTED_MESSAGE, true),
            (whole(1 << 20), 1 << 20, true),
            (events(COUNTED_EVENTS - 1), COUNTED_EVENTS - 1, false),
            (events(COUNTED_EVENTS), COUNTED_EVENTS, true),
            (events(1 << 20), 1 << 20, true),
        ] {
            let expected = if is_counted { size } else { 0 };
            let budget = ByteBudget::new(100);
            body.count_unsent(|| budget.charge(&Holder::Anonymous(None)));
            let frame = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await;
            let data = frame.unwrap().unwrap().into_data().unwrap();
            drop(body);
            assert_eq!((data.len(), budget.held()), (size, expected));
            // A connection may send a part of it first.
            let rest = data.slice(size / 2..);
            drop(data);
            assert_eq!(budget.held(), expected);
            drop(rest);
            assert_eq!(budget.held(), 0);
        }
    }
}
