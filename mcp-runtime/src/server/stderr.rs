//! Standard error of a server that runs over stdio: nobody need read it, so nothing of ours may wait for it.
//!
//! A thread writes what a bounded queue holds. What does not fit is dropped and counted. What handlers write themselves
//! goes past it.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Once};
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
pub(super) struct Lines {
    queue: SyncSender<Item>,
    lost: Arc<AtomicU64>,
}

#[derive(Debug)]
enum Item {
    Line(Vec<u8>),
    /// Dropped when everything before it is written.
    Flush(#[allow(dead_code, reason = "it is there to be dropped")] SyncSender<()>),
}

impl Lines {
    /// Writes lines in a thread, which ends with the process or with the last of its users.
    pub(super) fn start(stream: impl Write + Send + 'static) -> io::Result<Self> {
        let (queue, items) = sync_channel(LINES);
        let lost = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&lost);
        thread::Builder::new()
            .name("mcp-stderr".into())
            .spawn(move || write(stream, &items, &counted))?;
        Ok(Self { queue, lost })
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
        let (written, all) = sync_channel(1);
        if self.queue.try_send(Item::Flush(written)).is_ok() {
            // Either way it is over: it can only say that nobody reads.
            let _ = all.recv_timeout(LAST_LINES);
        }
    }

    fn leave(&self, line: &[u8]) {
        let start = line.get(..LINE).unwrap_or(line);
        if self.queue.try_send(Item::Line(start.into())).is_err() {
            self.lost.fetch_add(1, Relaxed);
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

fn write(mut stream: impl Write, items: &Receiver<Item>, lost: &AtomicU64) {
    for item in items {
        if let Item::Line(line) = item {
            let lost = lost.swap(0, Relaxed);
            if lost > 0 {
                // Nobody is left to be told that this fails.
                let _ = writeln!(stream, "{lost} lines were lost, because nobody read them");
            }
            let _ = stream.write_all(&line).and_then(|()| stream.flush());
        }
    }
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
