//! Writes to standard error for a server that runs over stdio. The client is not required to read standard error, so
//! the framework never blocks on it.
//!
//! A thread writes lines from a bounded queue. Lines that do not fit are dropped and counted. Output that handlers
//! write directly bypasses the queue.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::thread;
use std::time::Duration;

use crate::lock::lock;
use crate::server::log::LogWriter;

/// Capacity of the queue, in lines.
const LINES: usize = 256;
/// Maximum length of a line in bytes; longer lines are truncated.
const LINE: usize = 8 << 10;
/// Maximum time to wait for the last lines to be written.
const LAST_LINES: Duration = Duration::from_millis(200);

/// The queue of lines for the writer thread. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct LogLines(Arc<CloseQueueOnDrop>);

/// Ends the writer thread when the last handle is dropped.
#[derive(Debug)]
struct CloseQueueOnDrop(Arc<LogQueue>);

#[derive(Debug, Default)]
struct LogQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct QueueState {
    waiting: VecDeque<Vec<u8>>,
    /// Number of lines dropped since the last line was written.
    lost: u64,
    /// Total number of lines that have been queued so far.
    left: u64,
    /// Number of queued lines that have been written.
    written: u64,
    closed: bool,
}

impl LogLines {
    /// Starts the writer thread, which ends with the process or when the last handle is dropped.
    pub(super) fn start(stream: impl Write + Send + 'static) -> io::Result<Self> {
        let queue = Arc::<LogQueue>::default();
        let lines = Self(Arc::new(CloseQueueOnDrop(Arc::clone(&queue))));
        thread::Builder::new()
            .name("mcp-stderr".into())
            .spawn(move || queue.write_lines(stream))?;
        Ok(lines)
    }

    /// Logs warnings and errors, unless the program has a subscriber. Each event is logged at most ten times per
    /// second.
    pub(super) fn install_subscriber(&self) {
        let lines = self.clone();
        let log = LogWriter::new(move |line| lines.enqueue(line.as_bytes()));
        // This fails if the program has set a subscriber, which then takes precedence.
        let _ = tracing::subscriber::set_global_default(log);
    }

    /// Reports panics without blocking, using the installed hook if standard error has room and the queue otherwise.
    pub(super) fn log_panics(&self) {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            let lines = self.clone();
            let hook = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                if stderr_has_room() {
                    hook(panic);
                } else {
                    lines.enqueue(format!("{panic}\n").as_bytes());
                }
            }));
        });
    }

    /// Waits briefly for the lines queued so far to be written.
    pub(super) fn flush(&self) {
        let queue = &self.0.0;
        let state = queue.lock();
        let left = state.left;
        // A timeout means only that standard error is not being read.
        let _ = queue
            .changed
            .wait_timeout_while(state, LAST_LINES, |state| state.written < left);
    }

    fn enqueue(&self, line: &[u8]) {
        let start = line.get(..LINE).unwrap_or(line);
        let queue = &self.0.0;
        let mut state = queue.lock();
        if state.waiting.len() < LINES {
            state.waiting.push_back(start.into());
            state.left += 1;
            queue.changed.notify_all();
        } else {
            state.lost += 1;
        }
    }
}

impl Drop for CloseQueueOnDrop {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.changed.notify_all();
    }
}

impl LogQueue {
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        lock(&self.state)
    }

    fn write_lines(&self, mut stream: impl Write) {
        let mut state = self.lock();
        loop {
            if let Some(line) = state.waiting.pop_front() {
                let lost = std::mem::take(&mut state.lost);
                drop(state);
                if lost > 0 {
                    // Errors are ignored because there is nowhere to report them.
                    let _ = writeln!(stream, "{lost} log lines were lost: stderr was not read");
                }
                let _ = stream.write_all(&line).and_then(|()| stream.flush());
                state = self.lock();
                state.written += 1;
                self.changed.notify_all();
            } else if state.closed {
                return;
            } else {
                let waited = self.changed.wait(state);
                state = waited.unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

/// Returns `true` if standard error can currently accept at least one page of data. A hook may still block if it writes
/// more than that or if other code writes at the same time.
fn stderr_has_room() -> bool {
    #[cfg(unix)]
    {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};

        let error = rustix::stdio::stderr();
        let mut streams = [PollFd::new(&error, PollFlags::OUT)];
        let at_once = Timespec::default();
        poll(&mut streams, Some(&at_once)).is_ok_and(|ready| ready > 0)
    }
    #[cfg(not(unix))]
    true
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Instant;

    use super::*;

    /// A writer that blocks until it is released.
    struct Unread(mpsc::Receiver<()>, mpsc::Sender<String>);

    impl Write for Unread {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // An error means that the sender has been dropped, which also lets the write continue.
            let _ = self.0.recv();
            let text = String::from_utf8_lossy(bytes).into_owned();
            self.1.send(text).map_err(io::Error::other)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_that_nobody_reads_are_lost_and_hold_up_nothing() {
        let (read, may_write) = mpsc::channel();
        let (sender, written) = mpsc::channel();
        let lines = LogLines::start(Unread(may_write, sender)).unwrap();
        let began = Instant::now();
        for _ in 0..10_000 {
            lines.enqueue("x".repeat(1_000).as_bytes());
        }
        assert!(began.elapsed() < Duration::from_secs(5));
        drop(read);
        lines.flush();
        drop(lines);
        let all: String = written.iter().collect();
        assert!(all.contains("lines were lost"));
        assert!(all.len() <= (LINES + 2) * 1_100);
    }
}
