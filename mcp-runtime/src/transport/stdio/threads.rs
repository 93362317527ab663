//! Streams that support only blocking calls, with a thread for each direction.
//!
//! A thread that is waiting for input cannot be interrupted, so it ends with its stream or with the process. The amount
//! of buffered data is limited to four chunks of input and [`ROOM`] bytes of output.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::thread;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc;

use crate::lock::lock;

/// Maximum size of a chunk, in bytes.
const CHUNK: usize = 64 << 10;
/// Maximum number of chunks waiting to be read.
const CHUNKS: usize = 4;
/// Maximum number of bytes waiting to be written.
const ROOM: usize = 256 << 10;

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
        let (sender, chunks) = mpsc::channel(CHUNKS);
        thread::Builder::new()
            .name("mcp-stdin".into())
            .spawn(move || {
                loop {
                    let mut chunk = vec![0; CHUNK];
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
        let room = ROOM.saturating_sub(state.waiting.len()).min(bytes.len());
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
) -> io::Result<crate::transport::Connection> {
    Ok(
        crate::transport::Connection::new(StdinReader::start(input)?, StdoutWriter::start(output)?)
            .local()
            .with_origin(crate::observe::Origin::pipe()),
    )
}
