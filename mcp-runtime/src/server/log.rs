//! The default log for programs without a subscriber, which contains warnings and errors, one on each line.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;
use std::io::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use std::{fmt, io, thread};

use tracing::callsite::Identifier;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::registry::FINDINGS;
use crate::sync::lock;

/// Maximum number of times per second that the same event is written, because clients can cause most events.
const MAX_LINES_PER_SECOND: u32 = 10;

/// Writes warnings and errors, and limits how often each event is repeated, except for findings about definitions. Ignores
/// spans.
struct LogWriter<W> {
    leave: W,
    seen: Mutex<HashMap<Identifier, (Instant, u32)>>,
}

impl<W: Fn(&str) + Send + Sync + 'static> LogWriter<W> {
    /// Creates a subscriber that passes each line, including its line break, to `leave`.
    pub(super) fn new(leave: W) -> Self {
        let seen = Mutex::default();
        Self { leave, seen }
    }
}

impl<W: Fn(&str) + Send + Sync + 'static> Subscriber for LogWriter<W> {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= LevelFilter::WARN
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::WARN)
    }

    fn event_enabled(&self, event: &Event<'_>) -> bool {
        if event.metadata().target() == FINDINGS {
            return true;
        }
        let now = Instant::now();
        // The size of this map is bounded by the number of callsites in the program.
        let mut seen = lock(&self.seen);
        let (since, count) = seen.entry(event.metadata().callsite()).or_insert((now, 0));
        if now.duration_since(*since) >= Duration::from_secs(1) {
            (*since, *count) = (now, 0);
        }
        *count = count.saturating_add(1);
        *count <= MAX_LINES_PER_SECOND
    }

    fn event(&self, event: &Event<'_>) {
        let metadata = event.metadata();
        let mut line = EscapedLine(format_date(SystemTime::now()));
        let (level, target) = (metadata.level(), metadata.target());
        // Writing to a string never fails.
        let _ = write!(line, " {level:>5} {target}:");
        event.record(&mut line);
        line.0.push('\n');
        (self.leave)(&line.0);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// A buffer that always holds a single line. Control characters are escaped, so that an event's content can neither
/// forge another line nor move a terminal's cursor.
struct EscapedLine(String);

impl fmt::Write for EscapedLine {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            if character.is_control() {
                self.0.extend(character.escape_default());
            } else {
                self.0.push(character);
            }
        }
        Ok(())
    }
}

impl Visit for EscapedLine {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = match field.name() {
            "message" => write!(self, " {value:?}"),
            name => write!(self, " {name}={value:?}"),
        };
    }
}

/// Formats a time in UTC with milliseconds, as specified in RFC 3339.
fn format_date(time: SystemTime) -> String {
    let since_1970 = time.duration_since(SystemTime::UNIX_EPOCH);
    let since_1970 = since_1970.unwrap_or_default();
    let seconds = since_1970.as_secs() % 86_400;
    let mut days = since_1970.as_secs() / 86_400;
    let (mut year, mut month) = (1970_u32, 1);
    loop {
        let is_leap =
            year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
        let february = if is_leap { 29 } else { 28 };
        for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
            if days < length {
                let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
                let (day, millisecond) = (days + 1, since_1970.subsec_millis());
                return format!(
                    "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millisecond:03}Z"
                );
            }
            days -= length;
            month += 1;
        }
        (year, month) = (year + 1, 1);
    }
}

// --- Writes to standard error for a server that runs over stdio. The client is not required to read standard error, so
// the framework never blocks on it.
//
// A thread writes lines from a bounded queue. Lines that do not fit are dropped and counted. Output that handlers
// write directly bypasses the queue.

/// Capacity of the queue, in lines.
const QUEUE_LINES: usize = 256;

/// Maximum length of a line in bytes; longer lines are truncated.
const MAX_LINE_BYTES: usize = 8 << 10;

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
        let start = line.get(..MAX_LINE_BYTES).unwrap_or(line);
        let queue = &self.0.0;
        let mut state = queue.lock();
        if state.waiting.len() < QUEUE_LINES {
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
    mod log {
        use std::sync::Arc;

        use crate::server::log::*;

        fn lines(log: impl FnOnce()) -> Vec<String> {
            let lines = Arc::<Mutex<Vec<_>>>::default();
            let kept = Arc::clone(&lines);
            let leave = move |line: &str| kept.lock().unwrap().push(line.to_owned());
            tracing::subscriber::with_default(LogWriter::new(leave), log);
            std::mem::take(&mut lines.lock().unwrap())
        }

        #[test]
        fn repeated_log_events_are_rate_limited() {
            let all = lines(|| {
                for _ in 0..100 {
                    tracing::warn!("again");
                    tracing::info!("not at all");
                }
                tracing::error!("once");
            });
            let count = |what: &str| all.iter().filter(|line| line.contains(what)).count();
            assert_eq!((count("again"), count("once"), all.len()), (10, 1, 11));
        }

        #[test]
        fn every_finding_about_a_definition_is_written() {
            let all = lines(|| {
                for tool in 0..100 {
                    tracing::warn!(target: FINDINGS, tool, "has a schema that is refused");
                }
            });
            assert_eq!(all.len(), 100);
        }

        #[test]
        fn an_event_is_a_line() {
            let lines = lines(|| {
                let span = tracing::error_span!("around");
                let _inside = span.enter();
                tracing::warn!(limit = 3, called = "a\nb", error = %"c\n\u{1b}[2Jd", "too\nmuch");
            });
            let [line] = &lines[..] else {
                panic!("{lines:?}")
            };
            let (date, rest) = line.split_once(' ').unwrap();
            assert_eq!((date.len(), date.ends_with('Z')), (24, true));
            let expected = concat!(
                " WARN mcp_runtime::server::log::tests::log: too\\nmuch limit=3 ",
                "called=\"a\\nb\" error=c\\n\\u{1b}[2Jd\n"
            );
            assert_eq!(rest, expected);
        }

        #[test]
        fn log_dates_follow_the_gregorian_calendar() {
            let cases = [
                (0, "1970-01-01T00:00:00.007Z"),
                (951_782_399, "2000-02-28T23:59:59.007Z"),
                (951_827_696, "2000-02-29T12:34:56.007Z"),
                (1_798_761_599, "2026-12-31T23:59:59.007Z"),
                (4_107_542_400, "2100-03-01T00:00:00.007Z"),
            ];
            for (seconds, expected) in cases {
                let since_1970 = Duration::from_secs(seconds) + Duration::from_millis(7);
                assert_eq!(format_date(SystemTime::UNIX_EPOCH + since_1970), expected);
            }
        }
    }

    mod stderr {
        use std::sync::mpsc;
        use std::time::Instant;

        use crate::server::log::*;

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
        fn log_lines_that_are_not_read_are_dropped_without_blocking() {
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
            assert!(all.len() <= (QUEUE_LINES + 2) * 1_100);
        }
    }
}
