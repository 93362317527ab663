//! The default log for programs without a subscriber, which contains warnings and errors, one on each line.

use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};

use tracing::callsite::Identifier;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::lock::lock;
use crate::registry::FINDINGS;

/// Maximum number of times per second that the same event is written, because clients can cause most events.
const MOST: u32 = 10;

/// Writes warnings and errors, and limits how often each event is repeated, except for findings about definitions. Ignores
/// spans.
pub(super) struct LogWriter<W> {
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
        *count <= MOST
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn lines(log: impl FnOnce()) -> Vec<String> {
        let lines = Arc::<Mutex<Vec<_>>>::default();
        let kept = Arc::clone(&lines);
        let leave = move |line: &str| kept.lock().unwrap().push(line.to_owned());
        tracing::subscriber::with_default(LogWriter::new(leave), log);
        std::mem::take(&mut lines.lock().unwrap())
    }

    #[test]
    fn the_same_event_is_written_only_so_often() {
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
            " WARN mcp_runtime::server::log::tests: too\\nmuch limit=3 ",
            "called=\"a\\nb\" error=c\\n\\u{1b}[2Jd\n"
        );
        assert_eq!(rest, expected);
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
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
