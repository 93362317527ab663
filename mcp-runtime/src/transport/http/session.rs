//! One legacy session over HTTP: what the handshake agreed on, its calls under way, its streams.
//!
//! A session is data. Its calls run in tasks that it owns, so that a connection that breaks ends none of them; ending the
//! session ends them all.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::task::AtomicWaker;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::pulse::Pulse;
use super::stream::{STANDALONE, Stream};
use crate::dispatch::{Decision, Dispatcher, Prepared, Session, Sink, Started};
use crate::jsonrpc::{Message, RequestId};
use crate::limits::Limits;
use crate::protocol::ProtocolVersion;

/// One legacy session over HTTP.
pub(super) struct HttpSession {
    /// 256 random bits.
    pub(super) id: Box<str>,
    /// Whether all messages go over one stream, as in 2024-11-05.
    pub(super) is_one_stream: bool,
    /// Rung when the session has change notices.
    pub(super) bell: Arc<AtomicWaker>,
    state: Mutex<State>,
}

struct State {
    session: Session,
    calls: HashMap<RequestId, Call>,
    next_call: u64,
    streams: HashMap<u64, Arc<Stream>>,
    next_stream: u64,
    /// How many connections read its streams.
    readers: usize,
    used: Instant,
    /// Whether anything came after the handshake.
    is_started: bool,
    is_closed: bool,
}

/// A call under way.
struct Call {
    serial: u64,
    /// Its task and the stream of its answer, once it has them.
    task: Option<(AbortHandle, Arc<Stream>)>,
}

/// What starting a call came to.
pub(super) enum Begun {
    /// Its answer.
    Done(Vec<u8>),
    /// It goes on; the answer comes on its stream.
    Running,
    /// It was taken back.
    Cancelled,
    /// There is a call of that id already.
    Repeated,
    /// There are as many calls as there may be.
    TooMany,
}

impl HttpSession {
    /// A session on which nothing was said. None if the system has no random numbers.
    pub(super) fn new(dispatcher: &Arc<Dispatcher>, is_one_stream: bool) -> Option<Self> {
        let mut id = [0_u8; 32];
        getrandom::fill(&mut id).ok()?;
        let bell = Arc::new(AtomicWaker::new());
        let wake = {
            let bell = Arc::clone(&bell);
            Arc::new(move || bell.wake())
        };
        Some(Self {
            id: URL_SAFE_NO_PAD.encode(id).into(),
            is_one_stream,
            bell,
            state: Mutex::new(State {
                session: Session::new(dispatcher, wake),
                calls: HashMap::new(),
                next_call: 0,
                streams: HashMap::new(),
                next_stream: 1,
                readers: 0,
                used: Instant::now(),
                is_started: false,
                is_closed: false,
            }),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides a message.
    pub(super) fn decide<'m>(
        &self,
        dispatcher: &Arc<Dispatcher>,
        message: &'m Message<'m>,
        out: &mut Vec<u8>,
    ) -> Decision<'m> {
        let mut state = self.state();
        dispatcher.decide(message, &mut state.session, out)
    }

    /// The revision that was agreed on.
    pub(super) fn version(&self) -> Option<ProtocolVersion> {
        self.state().session.version()
    }

    /// Whether arrays of messages are welcome.
    pub(super) fn allows_batch(&self) -> bool {
        self.state().session.allows_batch()
    }

    /// Its client is still there.
    pub(super) fn touch(&self) {
        let mut state = self.state();
        state.used = Instant::now();
        state.is_started = true;
    }

    /// Since when nothing has happened; none while a call runs.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let state = self.state();
        state.calls.is_empty().then_some(state.used)
    }

    /// Whether it was idle for too long.
    pub(super) fn is_expired(&self, now: Instant, limits: &Limits) -> bool {
        let state = self.state();
        let allowed = if state.readers > 0 {
            limits.session_idle_streaming
        } else if state.is_started {
            limits.session_idle
        } else {
            limits.session_start
        };
        state.calls.is_empty() && now.saturating_duration_since(state.used) > allowed
    }

    /// Opens a stream on which `awaited` answers will come.
    pub(super) fn open_stream(&self, events: bool, awaited: usize, limits: &Limits) -> Arc<Stream> {
        let mut state = self.state();
        state.sweep(limits);
        let number = state.next_stream;
        state.next_stream = number.saturating_add(1);
        let stream = Stream::new(number, state.primes(), events, awaited, limits);
        let stream = Arc::new(stream);
        if state.is_closed {
            stream.end();
        } else {
            state.streams.insert(number, Arc::clone(&stream));
        }
        stream
    }

    /// The stream that no request opened, made when first asked for.
    pub(super) fn standalone(&self, limits: &Limits) -> Arc<Stream> {
        let mut state = self.state();
        let primed = state.primes();
        let stream = state
            .streams
            .entry(STANDALONE)
            .or_insert_with(|| Arc::new(Stream::new(STANDALONE, primed, true, 1, limits)));
        let stream = Arc::clone(stream);
        if state.is_closed {
            stream.end();
        }
        stream
    }

    /// The stream of this number, if it is still kept.
    pub(super) fn stream(&self, number: u64, limits: &Limits) -> Option<Arc<Stream>> {
        let mut state = self.state();
        state.sweep(limits);
        state.streams.get(&number).cloned()
    }

    /// Nobody can come back to this stream.
    pub(super) fn forget(&self, number: u64) {
        self.state().streams.remove(&number);
    }

    /// Moves pending change notices to the stream that no request opened.
    pub(super) fn pump(&self, standalone: &Stream, room: usize) {
        if standalone.is_full() {
            return;
        }
        let mut lines = Vec::new();
        self.state().session.drain(&mut lines, room);
        for line in lines.split(|byte| *byte == b'\n') {
            if !line.is_empty() && !standalone.send(line) {
                tracing::debug!("a change notice was dropped: its stream has ended");
            }
        }
    }

    /// A connection reads one of its streams.
    pub(super) fn reader_came(&self) {
        let mut state = self.state();
        state.readers = state.readers.saturating_add(1);
    }

    /// A connection reads one of its streams no longer.
    pub(super) fn reader_left(&self) {
        let mut state = self.state();
        state.readers = state.readers.saturating_sub(1);
        state.used = Instant::now();
    }

    /// Runs a call: to its end if that is near, else as a task of the session.
    pub(super) fn run(
        self: &Arc<Self>,
        prepared: Prepared<'_>,
        (limits, pulse): (&Limits, &Arc<Pulse>),
        stream: &dyn Fn() -> Arc<Stream>,
    ) -> Begun {
        let id = prepared.id().clone();
        let serial = {
            let mut state = self.state();
            if state.calls.contains_key(&id) {
                return Begun::Repeated;
            }
            if state.calls.len() >= limits.running {
                return Begun::TooMany;
            }
            let serial = state.next_call;
            state.next_call = serial.wrapping_add(1);
            state.calls.insert(id.clone(), Call { serial, task: None });
            serial
        };
        let done = |answer: Vec<u8>| {
            if self.finish(&id, serial) {
                Begun::Done(answer)
            } else {
                Begun::Cancelled
            }
        };
        let mut running = match prepared.start(&|| stream() as Arc<dyn Sink>) {
            Started::Done(finished) => {
                let mut answer = Vec::with_capacity(256);
                finished.encode(&mut answer);
                return done(answer);
            }
            Started::Running(running) => running,
        };
        let first = Pin::new(&mut running).poll(&mut Context::from_waker(Waker::noop()));
        if let Poll::Ready(finished) = first {
            let mut answer = Vec::with_capacity(256);
            finished.encode(&mut answer);
            return done(answer);
        }
        let stream = stream();
        let mut state = self.state();
        let Some(call) = state
            .calls
            .get_mut(&id)
            .filter(|call| call.serial == serial)
        else {
            drop(state);
            return Begun::Cancelled;
        };
        let task = {
            let (session, stream, id) = (Arc::downgrade(self), Arc::clone(&stream), id.clone());
            let pulse = Arc::clone(pulse);
            async move {
                let finished = poll_fn(|cx| pulse.run(|| Pin::new(&mut running).poll(cx))).await;
                let mut answer = Vec::with_capacity(256);
                finished.encode(&mut answer);
                if let Some(session) = session.upgrade()
                    && session.finish(&id, serial)
                {
                    stream.answer(&answer);
                }
            }
        };
        // The session owns the task: it is aborted when the call is taken back or the session ends.
        let task = tokio::spawn(task).abort_handle();
        call.task = Some((task, stream));
        Begun::Running
    }

    /// Takes a call off the list; `false` if it was taken back before.
    fn finish(&self, id: &RequestId, serial: u64) -> bool {
        let mut state = self.state();
        state.used = Instant::now();
        let is_there = state
            .calls
            .get(id)
            .is_some_and(|call| call.serial == serial);
        is_there && state.calls.remove(id).is_some()
    }

    /// The client takes back a request: its handler's future is dropped, and no answer comes.
    pub(super) fn cancel(&self, id: &RequestId) {
        let call = self.state().calls.remove(id);
        if let Some((task, stream)) = call.and_then(|call| call.task) {
            task.abort();
            stream.give_up();
        }
    }

    /// Ends the session: its calls are dropped, its streams end.
    pub(super) fn close(&self) {
        let (calls, streams) = {
            let mut state = self.state();
            state.is_closed = true;
            // Whatever the session keeps open ends; there is nobody to tell.
            state.session.end(&mut Vec::new());
            (
                std::mem::take(&mut state.calls),
                std::mem::take(&mut state.streams),
            )
        };
        for (task, _) in calls.into_values().filter_map(|call| call.task) {
            task.abort();
        }
        for stream in streams.into_values() {
            stream.end();
        }
        self.bell.wake();
    }
}

impl Drop for HttpSession {
    fn drop(&mut self) {
        self.close();
    }
}

impl State {
    /// Whether streams begin with an event that says where to resume, which clients before 2025-11-25 do not expect.
    fn primes(&self) -> bool {
        self.session
            .version()
            .is_some_and(|version| version >= ProtocolVersion::V2025_11_25)
    }

    /// Forgets streams that are over and will hardly be resumed any more.
    fn sweep(&mut self, limits: &Limits) {
        let now = Instant::now();
        let mut kept = Vec::new();
        self.streams.retain(|number, stream| {
            let Some((at, bytes)) = stream.finished() else {
                return true;
            };
            let keep = now.saturating_duration_since(at) <= limits.replay_time;
            if keep {
                kept.push((*number, bytes));
            }
            keep
        });
        kept.sort_unstable();
        let mut total = 0_usize;
        for (index, (number, bytes)) in kept.into_iter().rev().enumerate() {
            total = total.saturating_add(bytes);
            if index >= limits.replay_events || total > limits.replay_bytes {
                self.streams.remove(&number);
            }
        }
    }
}
