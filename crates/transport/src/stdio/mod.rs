//! Standard input and output, which connect the server to a single client: the program that started the process.
//!
//! Both streams become unavailable to the rest of the process: output from a stray `println!` goes to standard error,
//! and child processes cannot access either stream. The kind of stream determines how bytes are transferred: without
//! blocking (`unix`), or by a thread for each direction. Specification: basic/transports, "stdio".

#[cfg(unix)]
mod unix;

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;
use std::{fmt, io, thread};

use mcp_core::sync::lock;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc;
#[cfg(unix)]
pub use unix::replace_unread_output;

use crate::{Connection, Transport};

static TAKEN: AtomicBool = AtomicBool::new(false);

/// The process's standard input and output, as a transport for a single client.
///
/// The server ends when its input ends. Standard error is unchanged and can be used for logs, but clients are not
/// required to read it, so a handler that writes a lot to standard error may block. If the client closes it, what is
/// printed is discarded. On Windows, the streams are not
/// redirected, so do not print to standard output.
pub struct Stdio(Option<Streams>);

#[cfg(unix)]
type Streams = (std::fs::File, std::fs::File);

#[cfg(not(unix))]
type Streams = ();

impl Stdio {
    /// Takes both streams. From then on, standard input is empty and standard output is redirected to standard error.
    ///
    /// Call this before anything is printed.
    ///
    /// # Errors
    ///
    /// Fails if the streams have already been taken or if one of them is closed.
    pub fn open() -> io::Result<Self> {
        #[cfg(unix)]
        let take = unix::take_streams;
        #[cfg(not(unix))]
        let take = || Ok(());
        Self::open_once(&TAKEN, take)
    }

    fn open_once(
        taken: &AtomicBool,
        take: impl FnOnce() -> io::Result<Streams>,
    ) -> io::Result<Self> {
        if taken.swap(true, Ordering::SeqCst) {
            let text = "standard input and output are already in use by a server";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
        }
        match take() {
            Ok(streams) => Ok(Self(Some(streams))),
            Err(error) => {
                // Taking the streams failed, so the flag is reset to let the next attempt report the error as well.
                taken.store(false, Ordering::SeqCst);
                Err(error)
            }
        }
    }
}

impl Stdio {
    /// Returns a function that checks, without reading, whether the client has closed standard input.
    #[doc(hidden)]
    #[must_use]
    pub fn hung_up(&self) -> Box<dyn Fn() -> bool + Send + Sync> {
        #[cfg(unix)]
        if let Some(input) = self
            .0
            .as_ref()
            .and_then(|(input, _)| input.try_clone().ok())
        {
            return Box::new(move || unix::hung_up(&input));
        }
        Box::new(|| false)
    }
}

impl Transport for Stdio {
    async fn accept(&mut self) -> Option<io::Result<Connection>> {
        let streams = self.0.take()?;
        #[cfg(unix)]
        return Some(unix::connection(streams));
        #[cfg(not(unix))]
        {
            let () = streams;
            Some(connection(io::stdin(), io::stdout()))
        }
    }
}

impl fmt::Debug for Stdio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stdio").finish_non_exhaustive()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::File;

    use crate::stdio::*;

    #[test]
    fn streams_that_fail_to_open_are_not_marked_as_opened() {
        let taken = AtomicBool::new(false);
        for _ in 0..2 {
            let take = || Err(io::ErrorKind::NotFound.into());
            let error = Stdio::open_once(&taken, take).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::NotFound);
        }
        let take = || Ok((File::open("/dev/null")?, File::open("/dev/null")?));
        Stdio::open_once(&taken, take).unwrap();
        let error = Stdio::open_once(&taken, take).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    }
}

// --- The process that started this process. A server over stdio serves no purpose once that process has ended.
//
// Usually, the end of input indicates this, but the pipe remains open as long as any process, such as another child of
// the same client, holds its other end.

/// Interval between checks. Polling is necessary because the system notifies a process when its children end but not
/// when its parent ends.
const PARENT_CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// The process that started this process, as determined when this value was created.
#[derive(Clone, Copy, Debug)]
pub struct ParentProcess {
    #[cfg(unix)]
    id: u32,
}

impl ParentProcess {
    /// Returns the process that started this one.
    #[must_use]
    pub fn current() -> Self {
        Self {
            #[cfg(unix)]
            id: std::os::unix::process::parent_id(),
        }
    }

    /// Returns `true` if the process has ended, in which case its children have a different parent. Always returns
    /// `false` on Windows, where children keep the old parent's id.
    #[cfg_attr(
        not(unix),
        expect(clippy::unused_self, reason = "only Unix reparents orphaned processes")
    )]
    #[must_use]
    pub fn is_gone(self) -> bool {
        #[cfg(unix)]
        return std::os::unix::process::parent_id() != self.id;
        #[cfg(not(unix))]
        false
    }

    /// Completes within a few seconds after the process has ended.
    pub async fn gone(self) {
        while !self.is_gone() {
            tokio::time::sleep(PARENT_CHECK_INTERVAL).await;
        }
    }
}

// --- Streams that support only blocking calls, with a thread for each direction.
//
// A thread that is waiting for input cannot be interrupted, so it ends with its stream or with the process. The amount
// of buffered data is limited to four chunks of input and [`MAX_WAITING_BYTES`] bytes of output.

/// Maximum size of a chunk, in bytes.
const MAX_CHUNK_BYTES: usize = 64 << 10;

/// Maximum number of chunks waiting to be read.
const MAX_WAITING_CHUNKS: usize = 4;

/// Maximum number of bytes waiting to be written.
const MAX_WAITING_BYTES: usize = 256 << 10;

/// Reads standard input in a separate thread.
#[derive(Debug)]
pub(super) struct StdinReader {
    chunks: mpsc::Receiver<io::Result<Vec<u8>>>,
    chunk: Vec<u8>,
    /// Number of bytes in `chunk` that have been consumed.
    taken: usize,
}

impl StdinReader {
    pub(super) fn start(mut stream: impl Read + Send + 'static) -> io::Result<Self> {
        let (sender, chunks) = mpsc::channel(MAX_WAITING_CHUNKS);
        thread::Builder::new()
            .name("mcp-stdin".into())
            .spawn(move || {
                loop {
                    let mut chunk = vec![0; MAX_CHUNK_BYTES];
                    let read = stream.read(&mut chunk).map(|length| {
                        chunk.truncate(length);
                        chunk
                    });
                    let is_last = match &read {
                        Ok(chunk) => chunk.is_empty(),
                        Err(error) => error.kind() != io::ErrorKind::Interrupted,
                    };
                    if sender.blocking_send(read).is_err() || is_last {
                        return;
                    }
                }
            })?;
        Ok(Self {
            chunks,
            chunk: Vec::new(),
            taken: 0,
        })
    }
}

impl AsyncRead for StdinReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.taken >= self.chunk.len() {
            // If the thread has ended, this also counts as the end of input.
            self.chunk = ready!(self.chunks.poll_recv(cx)).unwrap_or_else(|| Ok(Vec::new()))?;
            self.taken = 0;
        }
        let rest = self.chunk.get(self.taken..).unwrap_or_default();
        let length = rest.len().min(out.remaining());
        out.put_slice(rest.get(..length).unwrap_or_default());
        self.taken = self.taken.saturating_add(length);
        Poll::Ready(Ok(()))
    }
}

/// Writes standard output in a separate thread.
#[derive(Debug)]
pub(super) struct StdoutWriter(Arc<WriterShared>);

#[derive(Debug, Default)]
struct WriterShared {
    state: Mutex<WriterState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct WriterState {
    waiting: VecDeque<u8>,
    /// `true` while the thread is writing.
    writing: bool,
    error: Option<io::Error>,
    closed: bool,
    waker: Option<Waker>,
}

impl WriterShared {
    fn lock(&self) -> MutexGuard<'_, WriterState> {
        lock(&self.state)
    }

    fn write(&self, mut stream: impl Write) {
        let mut state = self.lock();
        loop {
            if state.error.is_none() && !state.waiting.is_empty() {
                let bytes = Vec::from(std::mem::take(&mut state.waiting));
                state.writing = true;
                drop(state);
                let written = stream.write_all(&bytes).and_then(|()| stream.flush());
                state = self.lock();
                state.writing = false;
                state.error = written.err();
                if let Some(waker) = state.waker.take() {
                    waker.wake();
                }
            } else if state.closed {
                return;
            } else {
                state = self
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

impl StdoutWriter {
    pub(super) fn start(stream: impl Write + Send + 'static) -> io::Result<Self> {
        let shared = Arc::new(WriterShared::default());
        let writer = Self(Arc::clone(&shared));
        thread::Builder::new()
            .name("mcp-stdout".into())
            .spawn(move || shared.write(stream))?;
        Ok(writer)
    }
}

impl Drop for StdoutWriter {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.changed.notify_one();
    }
}

impl AsyncWrite for StdoutWriter {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut state = self.0.lock();
        if let Some(error) = &state.error {
            return Poll::Ready(Err(error.kind().into()));
        }
        let room = MAX_WAITING_BYTES
            .saturating_sub(state.waiting.len())
            .min(bytes.len());
        if room == 0 && !bytes.is_empty() {
            state.waker = Some(cx.waker().clone());
            return Poll::Pending;
        }
        state.waiting.extend(bytes.iter().take(room));
        self.0.changed.notify_one();
        Poll::Ready(Ok(room))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.0.lock();
        if let Some(error) = &state.error {
            return Poll::Ready(Err(error.kind().into()));
        }
        if state.writing || !state.waiting.is_empty() {
            state.waker = Some(cx.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}

/// Creates a connection from both streams.
#[cfg(not(unix))]
pub(super) fn connection(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> io::Result<crate::Connection> {
    Ok(
        crate::Connection::new(StdinReader::start(input)?, StdoutWriter::start(output)?)
            .local()
            .with_origin(mcp_core::observe::Origin::pipe()),
    )
}
