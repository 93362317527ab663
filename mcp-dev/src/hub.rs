//! The data sent to pages: events as they happen, and a snapshot for each newly opened page.
//!
//! All collections are bounded: `record` limits the messages that it keeps, and the number of standard error lines,
//! open questions and call outcomes is limited here. During a flood of unsolicited messages, only a limited number per
//! second are kept and shown; the others are only counted. A flood of requests is slowed down instead.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::broadcast;

use crate::record::{Entry, Record};
use crate::recording::Recorder;
use crate::session::Era;

/// Maximum number of events that a slow page may lag behind.
const MAX_BEHIND: usize = 1_024;
/// Maximum length of a message's text in an event; pages fetch longer messages separately.
const MAX_INLINE: usize = 64 << 10;
/// Maximum number of standard error lines that are kept.
const MAX_LINES: usize = 500;
/// Maximum number of notifications, lines and unexpected messages that are kept and shown in a second.
const MAX_PER_SECOND: u32 = 300;
/// Maximum number of requests accepted from servers in a second; further requests must wait.
const MAX_REQUESTS: u32 = 300;
/// Maximum number of call outcomes kept for pages that were not connected when the outcomes arrived.
const MAX_FINISHED: usize = 500;
/// Interval at which the number of skipped messages is sent to pages.
const COUNTED: Duration = Duration::from_millis(300);
/// Maximum number of messages in the snapshot.
const MAX_IN_SNAPSHOT: usize = 300;

/// The hub that receives, from all parts of the program, the data that pages show.
pub(crate) struct Hub {
    started: Instant,
    name: String,
    project: bool,
    /// The port on which app frames are served.
    app_port: AtomicU16,
    state: Mutex<State>,
    events: broadcast::Sender<Arc<str>>,
}

struct State {
    record: Record,
    recorder: Option<Recorder>,
    /// Values that must not appear in a recording.
    secrets: Vec<String>,
    /// The status of the most recent recording, as sent to pages.
    recording: Value,
    lines: VecDeque<Value>,
    eras: BTreeMap<&'static str, Value>,
    build: Value,
    /// Open questions from the server, keyed by the sequence number of their message.
    questions: BTreeMap<u64, Value>,
    /// The findings of the server's `check` command.
    findings: Value,
    /// The most recent call outcomes, as events.
    finished: VecDeque<Value>,
    shown: Budget,
    requests: Budget,
    /// The number of messages and lines that were not shown, and the number most recently sent to pages.
    skipped: u64,
    told: u64,
}

/// Counts events in the current second.
struct Budget {
    since: Instant,
    used: u32,
}

impl Budget {
    fn new() -> Self {
        Self {
            since: Instant::now(),
            used: 0,
        }
    }

    /// Takes one of `max` permits. The error is the time until new permits become available.
    fn take(&mut self, max: u32) -> Result<(), Duration> {
        let age = self.since.elapsed();
        if age >= Duration::from_secs(1) {
            *self = Self::new();
        }
        if self.used >= max {
            return Err(Duration::from_secs(1).saturating_sub(age));
        }
        self.used += 1;
        Ok(())
    }
}

/// A message to keep and show.
pub(crate) struct WireMessage<'a> {
    pub(crate) era: Era,
    pub(crate) sent: bool,
    pub(crate) text: &'a str,
    pub(crate) notes: Value,
    /// `true` if the message may be skipped during a flood because no code is waiting for it.
    pub(crate) droppable: bool,
}

impl Hub {
    pub(crate) fn new(name: &str, project: bool) -> Self {
        let state = State {
            record: Record::default(),
            recorder: None,
            secrets: Vec::new(),
            recording: Value::Null,
            lines: VecDeque::new(),
            eras: BTreeMap::new(),
            build: Value::Null,
            questions: BTreeMap::new(),
            findings: Value::Null,
            finished: VecDeque::new(),
            shown: Budget::new(),
            requests: Budget::new(),
            skipped: 0,
            told: 0,
        };
        Self {
            started: Instant::now(),
            name: name.to_owned(),
            project,
            app_port: AtomicU16::new(0),
            state: Mutex::new(state),
            events: broadcast::channel(MAX_BEHIND).0,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, event: &Value) {
        // If no page is open, there is no receiver, which is not an error.
        let _ = self.events.send(event.to_string().into());
    }

    /// Stores and shows a message. Returns `None` if the message was skipped because of a flood.
    pub(crate) fn message(&self, wire: WireMessage<'_>) -> Option<u64> {
        let mut state = self.state();
        if wire.droppable && flooded(&mut state) {
            return None;
        }
        let entry = state.record.push(Entry {
            seq: 0,
            era: wire.era,
            sent: wire.sent,
            at: self.started.elapsed().as_secs_f64() * 1e3,
            text: wire.text.into(),
            notes: wire.notes,
        });
        if let Some(recorder) = &mut state.recorder
            && !recorder.write(&entry)
        {
            self.stop_recording_of(&mut state);
        }
        // Messages are published under the lock so that pages see them in order.
        self.publish(&describe(&entry));
        Some(entry.seq)
    }

    /// Shows a line that a server wrote to standard error.
    pub(crate) fn line(&self, era: Era, text: &str) {
        let mut state = self.state();
        if flooded(&mut state) {
            return;
        }
        let line = json!({"type": "line", "era": era.name(), "text": text});
        state.lines.push_back(line.clone());
        while state.lines.len() > MAX_LINES {
            state.lines.pop_front();
        }
        self.publish(&line);
    }

    /// Waits until another request from a server may be accepted.
    pub(crate) async fn turn(&self) {
        loop {
            let taken = self.state().requests.take(MAX_REQUESTS);
            match taken {
                Ok(()) => return,
                Err(wait) => tokio::time::sleep(wait).await,
            }
        }
    }

    /// Keeps pages informed about the number of skipped messages for as long as the program runs.
    pub(crate) async fn keep_counted(&self) {
        loop {
            tokio::time::sleep(COUNTED).await;
            let mut state = self.state();
            if state.told != state.skipped {
                state.told = state.skipped;
                self.publish(&json!({"type": "flood", "skipped": state.skipped}));
            }
        }
    }

    /// Shows the state of an era's connection.
    pub(crate) fn era(&self, era: Era, status: Value) {
        let mut event = json!({"type": "era", "era": era.name()});
        event["status"] = status;
        // Here and below, changes are published under the lock so that pages see them in order.
        let mut state = self.state();
        state.eras.insert(era.name(), event.clone());
        self.publish(&event);
    }

    /// Shows the state of the build.
    pub(crate) fn build(&self, state: &str, text: &str, seconds: f64) {
        let event = json!({"type": "build", "state": state, "text": text, "seconds": seconds});
        let mut state = self.state();
        state.build = event.clone();
        self.publish(&event);
    }

    /// Shows the problems that the server's `check` command found in its definitions.
    pub(crate) fn findings(&self, findings: Value) {
        let mut state = self.state();
        self.publish(&json!({"type": "findings", "findings": findings}));
        state.findings = findings;
    }

    /// Starts writing all messages to a recording as well.
    pub(crate) fn record_to(&self, mut recorder: Recorder) {
        let mut state = self.state();
        for secret in &state.secrets {
            recorder.hide(secret);
        }
        for entry in state.record.iter() {
            recorder.learn(entry);
        }
        self.show_recording(&mut state, recorder.status(true));
        state.recorder = Some(recorder);
    }

    /// Hides the values of environment variables in recordings.
    pub(crate) fn hide_variables(&self, names: &[String]) {
        let values = names.iter().filter_map(|name| std::env::var(name).ok());
        let mut state = self.state();
        state.secrets = values.collect();
        let State {
            secrets, recorder, ..
        } = &mut *state;
        if let Some(recorder) = recorder {
            for secret in secrets {
                recorder.hide(secret);
            }
        }
    }

    /// Ends the current recording, if any.
    pub(crate) fn stop_recording(&self) {
        self.stop_recording_of(&mut self.state());
    }

    fn stop_recording_of(&self, state: &mut State) {
        if let Some(recorder) = state.recorder.take() {
            let status = recorder.status(false);
            if let Some(reason) = status["failure"].as_str() {
                eprintln!("mcp-dev: the recording has ended: {reason}");
            }
            self.show_recording(state, status);
        }
    }

    fn show_recording(&self, state: &mut State, status: Value) {
        self.publish(&json!({"type": "recording", "recording": status}));
        state.recording = status;
    }

    /// Returns the most recent recording's file, and `true` if it is still being written.
    pub(crate) fn recorded(&self) -> Option<(PathBuf, bool)> {
        let state = self.state();
        let file = state.recording["file"].as_str()?;
        Some((file.into(), state.recorder.is_some()))
    }

    pub(crate) fn set_app_port(&self, port: u16) {
        self.app_port.store(port, Ordering::Relaxed);
    }

    /// Shows that a page's call has ended, either with a response message or for some other reason.
    pub(crate) fn finished(&self, key: &str, outcome: &Value) {
        let event = json!({"type": "finished", "key": key, "outcome": outcome});
        let mut state = self.state();
        state.finished.push_back(event.clone());
        while state.finished.len() > MAX_FINISHED {
            state.finished.pop_front();
        }
        self.publish(&event);
    }

    /// Opens a question from the server, which the page shows as a form.
    pub(crate) fn ask(&self, era: Era, seq: u64, method: &str, params: &Value) {
        let event = json!({"type": "question", "era": era.name(), "seq": seq, "method": method, "params": params});
        let mut state = self.state();
        state.questions.insert(seq, event.clone());
        self.publish(&event);
    }

    /// Closes a question that has been answered or whose answer the server no longer expects.
    pub(crate) fn settle(&self, seq: u64) {
        let mut state = self.state();
        if state.questions.remove(&seq).is_some() {
            self.publish(&json!({"type": "settled", "seq": seq}));
        }
    }

    /// Returns the text of a message, if it is still kept.
    pub(crate) fn text(&self, seq: u64) -> Option<Arc<str>> {
        Some(Arc::clone(&self.state().record.get(seq)?.text))
    }

    /// Returns a snapshot of the current state for a new page, and a receiver for subsequent events.
    pub(crate) fn open(&self) -> (Arc<str>, broadcast::Receiver<Arc<str>>) {
        let state = self.state();
        let receiver = self.events.subscribe();
        let messages: Vec<Value> = state.record.iter().map(describe).collect();
        let from = messages.len().saturating_sub(MAX_IN_SNAPSHOT);
        let snapshot = json!({
            "type": "snapshot",
            "name": self.name,
            "project": self.project,
            "build": state.build,
            "eras": state.eras.values().collect::<Vec<_>>(),
            "questions": state.questions.values().collect::<Vec<_>>(),
            "lines": state.lines,
            "appPort": self.app_port.load(Ordering::Relaxed),
            "findings": state.findings,
            "recording": state.recording,
            "finished": state.finished,
            "skipped": state.skipped,
            "messages": messages.get(from..).unwrap_or_default(),
        });
        (snapshot.to_string().into(), receiver)
    }
}

/// Counts an unsolicited message and returns `true` if it exceeds the limit.
fn flooded(state: &mut State) -> bool {
    let flooded = state.shown.take(MAX_PER_SECOND).is_err();
    state.skipped += u64::from(flooded);
    flooded
}

fn describe(entry: &Entry) -> Value {
    let inline = (entry.text.len() <= MAX_INLINE).then(|| &*entry.text);
    json!({
        "type": "message",
        "seq": entry.seq,
        "era": entry.era.name(),
        "sent": entry.sent,
        "at": (entry.at * 1e3).round() / 1e3,
        "bytes": entry.text.len(),
        "text": inline,
        "notes": entry.notes,
    })
}
