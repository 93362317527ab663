//! Messages that a call sends before its response: progress reports and log messages. The rate of these messages is
//! limited, and they are never sent after the call has ended.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use serde_json::{Map, Value};

use crate::host::Instant;
use crate::jsonrpc;
use crate::protocol::{ProtocolVersion, encode};
use crate::rate::{Rate, TokenBucket};
use crate::sync::lock;
use crate::types::LoggingLevel;

/// A report that shows only that a call is still running adds one to this many parts of a unit of progress: progress has to grow with
/// each report, and a call that reports every second for two hours should not appear to have done a whole unit.
const PARTS_OF_A_UNIT: f64 = 10_000.0;

/// Accepts complete messages for a request's stream.
pub trait Sink: Send + Sync {
    /// Queues a message. Returns `false` if the message was rejected because the request has ended or the queue is
    /// full.
    fn send(&self, message: &[u8]) -> bool;

    /// Requests that the connection be closed after the messages sent so far, provided that the client can reconnect to
    /// receive the rest.
    fn close_connection(&self) {}
}

/// The messages that a call sends before its result.
pub enum CallMessages {
    /// They are sent to the client.
    Stream(CallStream),
    /// The call runs in the background.
    Background(Box<dyn BackgroundMessages>),
}

/// Where the messages of a call go that runs in the background. A trait, because only programs with such calls
/// contain the code for it, and because it leads to the context of another request, which has messages itself.
pub trait BackgroundMessages: Send + Sync {
    /// Reports progress to the owner of the run.
    fn report(&self, progress: &Progress);
    /// Passes the messages of the request that is waiting for the call to `send`. Returns `false` if none is waiting.
    fn waiting(&self, send: &mut dyn FnMut(&CallMessages)) -> bool;
}

impl CallMessages {
    /// Sends held-back messages and drops all later ones, because the call has ended.
    pub(crate) fn close(&self) {
        if let Self::Stream(stream) = self {
            stream.close();
        }
    }

    /// Drops all later messages, because the call has been cancelled.
    pub(crate) fn abandon(&self) {
        if let Self::Stream(stream) = self {
            stream.abandon();
        }
    }

    /// Returns `true` while the call is polled by the handler of a request that is waiting for it, and whose timeout
    /// applies.
    pub(crate) fn is_inside_request(&self) -> bool {
        match self {
            Self::Stream(_) => false,
            Self::Background(messages) => messages.waiting(&mut |_| {}),
        }
    }

    /// Reports progress.
    pub(crate) fn progress(&self, progress: &Progress) {
        match self {
            Self::Stream(stream) => stream.progress(progress),
            Self::Background(messages) => {
                messages.report(progress);
                messages.waiting(&mut |request| request.progress(progress));
            }
        }
    }

    /// Reports slightly more progress than in the last report if nothing has been reported for this long. Returns the
    /// time until this may next be necessary.
    pub(crate) fn keep_alive(&self, quiet: Duration) -> Duration {
        match self {
            Self::Stream(stream) => stream.keep_alive(quiet),
            Self::Background(_) => quiet,
        }
    }

    /// Returns `true` if messages at this level are sent. Checked before a message is rendered.
    pub fn accepts_level(&self, level: LoggingLevel) -> bool {
        match self {
            Self::Stream(stream) => stream.level.admits(level),
            Self::Background(messages) => {
                let mut accepts = false;
                messages.waiting(&mut |request| accepts = request.accepts_level(level));
                accepts
            }
        }
    }

    /// Closes the connection that carries the call, if the client can reconnect to receive the response.
    pub(crate) fn close_stream(&self) {
        match self {
            Self::Stream(stream) => stream.close_stream(),
            Self::Background(messages) => {
                messages.waiting(&mut Self::close_stream);
            }
        }
    }

    /// Sends a log message; `data` is JSON.
    pub fn log(&self, level: LoggingLevel, logger: Option<&str>, data: &str) {
        match self {
            Self::Stream(stream) => stream.log(level, logger, data),
            Self::Background(messages) => {
                messages.waiting(&mut |request| request.log(level, logger, data));
            }
        }
    }

    /// Sends an extension's notification.
    pub(crate) fn extension(&self, method: &str, params: &Map<String, Value>) {
        match self {
            Self::Stream(stream) => stream.extension(method, params),
            Self::Background(messages) => {
                messages.waiting(&mut |request| request.extension(method, params));
            }
        }
    }
}

/// The notifications sent by a single call.
pub struct CallStream {
    pub(crate) sink: Arc<dyn Sink>,
    pub(crate) version: ProtocolVersion,
    /// The raw JSON of the progress token, if the client sent one.
    pub(crate) token: Option<Box<str>>,
    pub(crate) level: LogLevel,
    pub(crate) logs: CallLogBudget,
    /// The number of log messages per second in a budget of the call's own.
    pub(crate) log_rate: u32,
    /// Maximum length of a log message, in bytes.
    pub(crate) longest: usize,
    /// Maximum number of progress reports per second.
    pub(crate) rate: u32,
    pub(crate) state: Mutex<StreamState>,
}

/// The changing part of a call's stream.
#[derive(Default)]
pub(crate) struct StreamState {
    /// `true` once the call can no longer send messages.
    over: bool,
    /// Allocated when first used, because most calls report no progress.
    reports: Option<Box<Reports>>,
}

impl StreamState {
    fn reports(&mut self) -> &mut Reports {
        self.reports.get_or_insert_default()
    }

    fn take_held(&mut self) -> Option<Progress> {
        self.reports.as_mut()?.held.take()
    }
}

/// Progress reported so far.
#[derive(Default)]
struct Reports {
    /// The progress in the latest report to the client.
    last: Option<f64>,
    /// The progress in the handler's own latest report.
    last_of_handler: Option<f64>,
    /// Time of the latest report.
    at: Option<Instant>,
    /// The latest report, if it is held back because reports arrived too quickly.
    held: Option<Progress>,
    /// Created when the first report arrives.
    bucket: Option<TokenBucket>,
}

/// The level of the log messages that a client has requested.
#[derive(Clone, Debug)]
pub(crate) enum LogLevel {
    /// No log messages.
    Off,
    /// Messages at or above this level, for one modern request.
    Request(LoggingLevel),
    /// Messages at or above the level that the session last set.
    Session(Arc<AtomicU8>),
}

impl LogLevel {
    pub(crate) fn admits(&self, level: LoggingLevel) -> bool {
        match self {
            Self::Off => false,
            Self::Request(least) => level >= *least,
            Self::Session(least) => level as u8 >= least.load(Ordering::Relaxed),
        }
    }
}

/// The token bucket for a session's log messages, and the number of messages dropped since the last message was sent.
#[derive(Debug)]
pub(crate) struct LogBudget(Mutex<(TokenBucket, u64)>);

/// The budget from which a call takes its log messages.
pub(crate) enum CallLogBudget {
    /// The budget of its session.
    Session(Arc<LogBudget>),
    /// A budget of its own, made for the first log message of a call without a session.
    Own(OnceLock<Box<LogBudget>>),
}

impl LogBudget {
    pub(crate) fn new(rate: u32) -> Self {
        let rate = Rate::per_second(rate, rate.saturating_mul(2));
        Self(Mutex::new((TokenBucket::new(rate), 0)))
    }

    /// Takes a token and returns the number of messages dropped since the last message was sent. Returns `None` if this
    /// message must be dropped.
    fn admit(&self) -> Option<u64> {
        let (bucket, dropped) = &mut *lock(&self.0);
        if bucket.take_token(Instant::now()) {
            return Some(std::mem::take(dropped));
        }
        *dropped = dropped.saturating_add(1);
        None
    }

    /// Records that a message could not be sent.
    fn count_dropped(&self) {
        let (_, dropped) = &mut *lock(&self.0);
        *dropped = dropped.saturating_add(1);
    }
}

impl CallStream {
    fn logs(&self) -> &LogBudget {
        match &self.logs {
            CallLogBudget::Session(budget) => budget,
            CallLogBudget::Own(budget) => {
                budget.get_or_init(|| Box::new(LogBudget::new(self.log_rate)))
            }
        }
    }

    /// Sends a report. Returns `true` if it was accepted.
    fn send_progress(&self, progress: &Progress) -> bool {
        let Some(token) = &self.token else {
            return false;
        };
        let mut message = Vec::with_capacity(128);
        let text = progress.message.as_deref();
        encode::progress(
            &mut message,
            self.version,
            token,
            progress.progress,
            progress.total,
            text,
        );
        self.sink.send(&message)
    }

    /// Reports progress that exceeds that of the previous report.
    fn report(&self, reports: &mut Reports, progress: Progress) {
        reports.last = Some(progress.progress);
        reports.at = Some(Instant::now());
        let new = || TokenBucket::new(Rate::per_second(self.rate, self.rate));
        let bucket = reports.bucket.get_or_insert_with(new);
        let sent = bucket.take_token(Instant::now()) && self.send_progress(&progress);
        reports.held = (!sent).then_some(progress);
    }

    fn state(&self) -> std::sync::MutexGuard<'_, StreamState> {
        lock(&self.state)
    }
}

/// Returns slightly more progress, in few digits if possible: the numbers may be shown to people.
fn slightly_more(last: f64) -> f64 {
    let next = ((last * PARTS_OF_A_UNIT).round() + 1.0) / PARTS_OF_A_UNIT;
    if next.is_finite() && next > last {
        next
    } else {
        last.next_up()
    }
}

impl CallStream {
    fn close(&self) {
        let mut state = self.state();
        if let Some(progress) = state.take_held() {
            self.send_progress(&progress);
        }
        state.over = true;
    }

    fn abandon(&self) {
        let mut state = self.state();
        state.reports = None;
        state.over = true;
    }

    fn progress(&self, progress: &Progress) {
        let total_is_finite = progress.total.is_none_or(f64::is_finite);
        if self.token.is_none() || !progress.progress.is_finite() || !total_is_finite {
            return;
        }
        let mut state = self.state();
        if state.over {
            return;
        }
        let reports = state.reports();
        let is_less = |last: f64| progress.progress <= last;
        if reports.last_of_handler.is_some_and(is_less) {
            return;
        }
        reports.last_of_handler = Some(progress.progress);
        let mut progress = progress.clone();
        // A keep-alive report since then may have reported slightly more progress.
        if let Some(last) = reports.last.filter(|last| progress.progress <= *last) {
            progress.progress = slightly_more(last);
        }
        self.report(reports, progress);
    }

    fn keep_alive(&self, quiet: Duration) -> Duration {
        let mut state = self.state();
        let over = state.over;
        let reports = state.reports();
        let silent = reports.at.map_or(quiet, |at| at.elapsed());
        if let Some(rest) = quiet.checked_sub(silent).filter(|rest| !rest.is_zero()) {
            return rest;
        }
        // A held-back report is more informative than the smallest possible progress.
        if let Some(held) = reports.held.take() {
            reports.at = Some(Instant::now());
            self.send_progress(&held);
        } else if self.token.is_some() && !over {
            let slightly = slightly_more(reports.last.unwrap_or_default());
            self.report(reports, Progress::from(slightly));
        }
        quiet
    }

    fn close_stream(&self) {
        if !self.state().over {
            self.sink.close_connection();
        }
    }

    fn extension(&self, method: &str, params: &Map<String, Value>) {
        if self.state().over {
            return;
        }
        if self.logs().admit().is_none() {
            tracing::debug!(method, "a notification was dropped: too many at once");
            return;
        }
        let mut message = Vec::with_capacity(128);
        encode::extension_notification(&mut message, method, params, None);
        self.sink.send(&message);
    }

    fn log(&self, level: LoggingLevel, logger: Option<&str>, data: &str) {
        if !self.level.admits(level) || self.state().over {
            return;
        }
        let Some(dropped) = self.logs().admit() else {
            return;
        };
        let mut message = Vec::with_capacity(128);
        if dropped > 0 && self.level.admits(LoggingLevel::Warning) {
            let summary = format!("\"{dropped} log messages were dropped: too many at once\"");
            encode::log(&mut message, LoggingLevel::Warning, None, &summary);
            self.sink.send(&message);
            message.clear();
        }
        encode::log(&mut message, level, logger, &shortened(data, self.longest));
        if !self.sink.send(&message) {
            self.logs().count_dropped();
        }
    }
}

/// Progress to report with [`Context::progress`](crate::context::Context::progress). `Progress` can be converted from a number,
/// `(number, total)`, `(number, total, message)` or, if the total is unknown, `(number, message)`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// The amount done so far, in any unit. The amount must be finite and increase from one report to the next.
    pub progress: f64,
    /// The total amount, if known.
    pub total: Option<f64>,
    /// A human-readable description of the current step.
    pub message: Option<String>,
}

/// Number types that can express progress.
pub trait Amount {
    /// Converts the number into the protocol's type.
    fn amount(self) -> f64;
}

macro_rules! amounts {
    ($($type:ty)*) => {$(
        impl Amount for $type {
            #[allow(clippy::cast_precision_loss, clippy::cast_lossless, reason = "progress is shown to people")]
            fn amount(self) -> f64 {
                self as f64
            }
        }
        impl From<$type> for Progress {
            fn from(progress: $type) -> Self {
                Self { progress: progress.amount(), total: None, message: None }
            }
        }
    )*};
}

amounts!(i8 i16 i32 i64 u8 u16 u32 u64 isize usize f32 f64);

impl<P: Amount, T: Amount> From<(P, T)> for Progress {
    fn from((progress, total): (P, T)) -> Self {
        Self {
            progress: progress.amount(),
            total: Some(total.amount()),
            message: None,
        }
    }
}

impl<P: Amount> From<(P, &str)> for Progress {
    fn from((progress, message): (P, &str)) -> Self {
        (progress, message.to_owned()).into()
    }
}

impl<P: Amount> From<(P, String)> for Progress {
    fn from((progress, message): (P, String)) -> Self {
        Self {
            message: Some(message),
            ..progress.amount().into()
        }
    }
}

impl<P: Amount, T: Amount, M: Into<String>> From<(P, T, M)> for Progress {
    fn from((progress, total, message): (P, T, M)) -> Self {
        Self {
            message: Some(message.into()),
            ..(progress, total).into()
        }
    }
}

/// Returns a log message of at most `longest` bytes of JSON. A longer message is truncated, converted to a string, and
/// marked as truncated.
fn shortened(data: &str, longest: usize) -> Cow<'_, str> {
    if data.len() <= longest {
        return Cow::Borrowed(data);
    }
    let text = serde_json::from_str::<String>(data);
    let mut text = text.unwrap_or_else(|_| data.to_owned());
    let mark = format!("… (truncated: {} bytes in total)", data.len());
    // JSON escaping can make a character six times as long.
    let (mut end, mut room) = (0, longest.saturating_sub(mark.len() + 2));
    for (index, character) in text.char_indices() {
        let mut escaped = Vec::new();
        jsonrpc::write_string(&mut escaped, character.encode_utf8(&mut [0; 4]));
        let Some(rest) = room.checked_sub(escaped.len().saturating_sub(2)) else {
            break;
        };
        (room, end) = (rest, index + character.len_utf8());
    }
    text.truncate(end);
    text.push_str(&mark);
    let mut json = Vec::with_capacity(longest);
    jsonrpc::write_string(&mut json, &text);
    Cow::Owned(String::from_utf8(json).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use crate::context::outbound::*;

    #[test]
    fn a_long_log_message_is_truncated_at_a_character_with_a_note() {
        let json = |text: &str| serde_json::to_string(text).unwrap();
        for text in ["a".repeat(1_000), "é".repeat(500), "\u{1}".repeat(400)] {
            let data = json(&text);
            assert_eq!(shortened(&data, data.len()), data);
            for longest in [100, 101, data.len() - 1] {
                let cut = shortened(&data, longest);
                assert!(cut.len() <= longest && cut.len() + 6 > longest, "{cut}");
                let cut: String = serde_json::from_str(&cut).unwrap();
                let (start, mark) = cut.split_once('…').unwrap();
                assert!(text.starts_with(start) && mark.contains(&data.len().to_string()));
            }
        }
        let object = format!("{{\"a\":{}}}", json(&"x".repeat(100)));
        let cut: String = serde_json::from_str(&shortened(&object, 60)).unwrap();
        assert!(cut.starts_with(r#"{"a":"xxx"#), "{cut}");
        // The mark is always present, even if it is longer than the limit.
        assert!(shortened(&object, 1).contains("bytes in total"));
    }

    #[test]
    fn small_progress_steps_increase_and_have_few_digits() {
        let mut progress = 0.0;
        for part in 1..=100_000_u32 {
            progress = slightly_more(progress);
            let digits = (f64::from(part) / 10_000.0).to_string();
            assert_eq!(progress.to_string(), digits);
        }
        for last in [0.5, 0.000_17, -3.2, 1e6, 1e15, 1e300, 1e308] {
            let more = slightly_more(last);
            assert!(more > last && more.is_finite(), "{last}");
        }
    }

    #[test]
    fn progress_converts_from_numbers_and_tuples() {
        let progress = |total, text: Option<&str>| Progress {
            progress: 3.0,
            total,
            message: text.map(str::to_owned),
        };
        assert_eq!(Progress::from(3), progress(None, None));
        assert_eq!(Progress::from((3, 4)), progress(Some(4.0), None));
        assert_eq!(Progress::from((3, "x")), progress(None, Some("x")));
        assert_eq!(
            Progress::from((3, "x".to_owned())),
            progress(None, Some("x"))
        );
        assert_eq!(Progress::from((3, 4, "x")), progress(Some(4.0), Some("x")));
    }
}
