//! Standard error of a server that runs over stdio: nobody need read it, so nothing of ours may wait for it.
//!
//! A thread writes what a bounded queue holds. What does not fit is dropped and counted. What handlers write themselves
//! goes past it.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::thread;
use std::time::Duration;

use crate::server::log::Log;

/// How many lines wait to be written.
const LINES: usize = 256;
/// Longest line, in bytes; the rest of a longer one is left out.
const LINE: usize = 8 << 10;
/// How long the last lines may take.
const LAST_LINES: Duration = Duration::from_millis(200);

/// Where lines are left for the thread that writes them.
#[derive(Clone, Debug)]
pub(super) struct Lines(Arc<Users>);

/// Ends the thread when the last of them is gone.
#[derive(Debug)]
struct Users(Arc<Queue>);

#[derive(Debug, Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Vec<u8>>,
    /// How many did not fit since one was written.
    lost: u64,
    /// How many were left in all, and how many of these are written.
    left: u64,
    written: u64,
    closed: bool,
}

impl Lines {
    /// Writes lines in a thread, which ends with the process or with the last of its users.
    pub(super) fn start(stream: impl Write + Send + 'static) -> io::Result<Self> {
        let queue = Arc::<Queue>::default();
        let lines = Self(Arc::new(Users(Arc::clone(&queue))));
        thread::Builder::new()
            .name("mcp-stderr".into())
            .spawn(move || queue.write(stream))?;
        Ok(lines)
    }

    /// Writes warnings and errors, unless the program has a subscriber of its own. The same event at most ten times a
    /// second.
    pub(super) fn log(&self) {
        let lines = self.clone();
        let log = Log::new(move |line| lines.leave(line.as_bytes()));
        // Fails if there is a subscriber already, which then wins.
        let _ = tracing::subscriber::set_global_default(log);
    }

    /// Has panics told without waiting: by the hook that is there if standard error takes what it writes, else here.
    pub(super) fn tell_panics(&self) {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            let lines = self.clone();
            let hook = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                if has_room() {
                    hook(panic);
                } else {
                    lines.leave(format!("{panic}\n").as_bytes());
                }
            }));
        });
    }

    /// Waits shortly for what was left before.
    pub(super) fn flush(&self) {
        let queue = &self.0.0;
        let state = queue.lock();
        let left = state.left;
        // Either way it is over: it can only say that nobody reads.
        let _ = queue
            .changed
            .wait_timeout_while(state, LAST_LINES, |state| state.written < left);
    }

    fn leave(&self, line: &[u8]) {
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

impl Drop for Users {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.changed.notify_all();
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, mut stream: impl Write) {
        let mut state = self.lock();
        loop {
            if let Some(line) = state.waiting.pop_front() {
                let lost = std::mem::take(&mut state.lost);
                drop(state);
                if lost > 0 {
                    // Nobody is left to be told that this fails.
                    let _ = writeln!(stream, "{lost} lines were lost, because nobody read them");
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

/// Whether standard error takes at least a page now. A hook may still have to wait if it writes more, or others do.
fn has_room() -> bool {
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

    /// Takes nothing until it may.
    struct Unread(mpsc::Receiver<()>, mpsc::Sender<String>);

    impl Write for Unread {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // Also goes on when there is nobody to wait for any more.
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
        let lines = Lines::start(Unread(may_write, sender)).unwrap();
        let began = Instant::now();
        for _ in 0..10_000 {
            lines.leave("x".repeat(1_000).as_bytes());
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
