//! Calls made by pages, and the connections that carry them: one for each era, opened when first needed.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{Mutex as AsyncMutex, Notify, watch};
use tokio::task::JoinHandle;

use crate::hub::Hub;
use crate::recording::{self, Recorder, Replay, Report};
use crate::session::{ConnectionOptions, Era, Session};
use crate::target::Target;

/// Maximum time that a server may take to answer the first message if it is not yet known to support the era.
const PROBE: Duration = Duration::from_secs(20);
/// Maximum time that a server may take to answer the first message.
const PATIENCE: Duration = Duration::from_mins(1);
/// Maximum number of concurrent calls.
const MAX_CALLS: usize = 200;

const NO_SERVER: &str = "there is no server yet, because no build has succeeded";

/// A request that a page wants to send.
#[derive(Debug, Deserialize)]
pub(crate) struct Call {
    /// The call's key, chosen by the page.
    pub(crate) key: String,
    pub(crate) era: Era,
    pub(crate) method: String,
    #[serde(default)]
    pub(crate) params: Value,
    /// Headers that mirror arguments.
    #[serde(default)]
    pub(crate) headers: Vec<(String, String)>,
}

/// An answer to a question from the server.
#[derive(Debug, Deserialize)]
pub(crate) struct Answer {
    pub(crate) era: Era,
    /// The sequence number of the question's message.
    pub(crate) seq: u64,
    /// The `result` or `error` member of the response.
    #[serde(rename = "answer")]
    pub(crate) members: Value,
}

/// The connections and calls of this program.
pub(crate) struct Engine {
    pub(crate) hub: Arc<Hub>,
    target: Mutex<Option<Target>>,
    modern: AsyncMutex<Option<Arc<Session>>>,
    legacy: AsyncMutex<Option<Arc<Session>>>,
    calls: Mutex<HashMap<String, Arc<Notify>>>,
    /// Held for the duration of a replay.
    playing: AsyncMutex<()>,
    /// The reason why connections may not currently be opened. Setting a reason also ends handshakes in progress.
    halted: watch::Sender<Option<String>>,
}

impl Engine {
    pub(crate) fn new(hub: Arc<Hub>) -> Self {
        Self {
            hub,
            target: Mutex::default(),
            modern: AsyncMutex::default(),
            legacy: AsyncMutex::default(),
            calls: Mutex::default(),
            playing: AsyncMutex::default(),
            halted: watch::Sender::new(None),
        }
    }

    fn slot(&self, era: Era) -> &AsyncMutex<Option<Arc<Session>>> {
        match era {
            Era::Modern => &self.modern,
            Era::Legacy => &self.legacy,
        }
    }

    /// Closes all connections for this reason and switches to another server or a new build. Returns before the server
    /// has answered; the returned task waits for the server's answer.
    pub(crate) async fn replace(self: &Arc<Self>, target: Target, reason: &str) -> JoinHandle<()> {
        let had_legacy = self.stop(reason).await;
        *self.target.lock().unwrap_or_else(PoisonError::into_inner) = Some(target);
        self.halted.send_replace(None);
        let engine = Arc::clone(self);
        tokio::spawn(async move { engine.connect(had_legacy).await })
    }

    /// Tries the modern era first, as expected by servers that support both eras, and falls back to the legacy era.
    async fn connect(&self, with_legacy: bool) {
        let mut halted = self.halted.subscribe();
        halted.mark_unchanged();
        let modern = self.session(Era::Modern, PROBE).await;
        // This server has been replaced by another server.
        if halted.has_changed().unwrap_or(true) {
            return;
        }
        if modern.is_err() || with_legacy {
            // A failure is reported in the era's status.
            let _ = self.session(Era::Legacy, PATIENCE).await;
        }
    }

    /// Closes all connections, including those being opened, and waits until the processes have ended. Returns `true`
    /// if there was a legacy connection. No connection is opened until [`Engine::replace`] is called.
    pub(crate) async fn stop(&self, reason: &str) -> bool {
        self.halted.send_replace(Some(reason.to_owned()));
        let [modern, legacy] = Era::BOTH.map(|era| self.stop_era(era, reason));
        let (_, had_legacy) = tokio::join!(modern, legacy);
        had_legacy
    }

    async fn stop_era(&self, era: Era, reason: &str) -> bool {
        let Some(session) = self.slot(era).lock().await.take() else {
            return false;
        };
        session.end(reason);
        session.gone().await;
        self.hub
            .era(era, json!({"state": "closed", "reason": reason}));
        true
    }

    /// Closes the connection for an era and opens a new one.
    pub(crate) async fn reconnect(&self, era: Era) {
        let session = self.slot(era).lock().await.take();
        if let Some(session) = session {
            session.end("connected anew");
            session.gone().await;
        }
        let _ = self.session(era, PATIENCE).await;
    }

    /// Returns the connection for an era, opening a new one if it does not exist or has ended.
    async fn session(&self, era: Era, patience: Duration) -> Result<Arc<Session>, String> {
        let mut slot = self.slot(era).lock().await;
        if let Some(session) = &*slot
            && session.ended().is_none()
        {
            return Ok(Arc::clone(session));
        }
        if let Some(ended) = slot.take() {
            ended.gone().await;
        }
        let mut halted = self.halted.subscribe();
        if let Some(reason) = &*halted.borrow() {
            return Err(reason.clone());
        }
        let target = self.target().ok_or(NO_SERVER)?;
        let options = ConnectionOptions {
            patience,
            tasks: true,
        };
        self.hub.era(era, json!({"state": "connecting"}));
        match Session::open(&target, era, &self.hub, options, &mut halted).await {
            Ok((session, status)) => {
                self.hub.era(era, status);
                *slot = Some(Arc::clone(&session));
                Ok(session)
            }
            Err(reason) => {
                self.hub
                    .era(era, json!({"state": "refused", "reason": reason}));
                Err(reason)
            }
        }
    }

    fn target(&self) -> Option<Target> {
        let target = self.target.lock().unwrap_or_else(PoisonError::into_inner);
        target.clone()
    }

    /// Starts a recording in a new file. Connections are reopened so that the recording starts with their first
    /// messages and the server's initial state.
    pub(crate) async fn record(self: &Arc<Self>) -> Result<(), String> {
        // This is held until the recording starts so that calls cannot open a connection before then.
        let mut slots = [self.modern.lock().await, self.legacy.lock().await];
        if self.hub.recorded().is_some_and(|(_, runs)| runs) {
            return Err("a recording is already in progress".into());
        }
        let recorder = Recorder::with_free_name(self.target().as_ref());
        let recorder = recorder.map_err(|error| format!("{error:#}"))?;
        let mut open = Vec::new();
        for (era, slot) in Era::BOTH.into_iter().zip(&mut slots) {
            if let Some(session) = slot.take() {
                session.end("a recording begins");
                session.gone().await;
                open.push(era);
            }
        }
        self.hub.record_to(recorder);
        drop(slots);
        for era in open {
            let engine = Arc::clone(self);
            // A failure is reported in the era's status.
            tokio::spawn(async move { engine.session(era, PATIENCE).await });
        }
        Ok(())
    }

    /// Returns the file of the most recent recording, if it is complete.
    pub(crate) fn recorded(&self) -> Result<PathBuf, String> {
        match self.hub.recorded() {
            Some((file, false)) => Ok(file),
            Some((_, true)) => Err("the recording is still in progress".into()),
            None => Err("there is no recording".into()),
        }
    }

    /// Replays the most recent recording against the current server.
    pub(crate) async fn replay(&self) -> Result<Report, String> {
        let Ok(_playing) = self.playing.try_lock() else {
            return Err("a recording is already being replayed".into());
        };
        let options = Replay {
            file: self.recorded()?,
            ..Replay::default()
        };
        let target = self.target().ok_or(NO_SERVER)?;
        let report = recording::play(&options, &target).await;
        report.map_err(|error| format!("{error:#}"))
    }

    /// Makes a call and sends its outcome as an event, even if the call fails.
    pub(crate) async fn call(self: &Arc<Self>, call: Call) {
        let key = call.key.clone();
        let cancelled = Arc::new(Notify::new());
        {
            let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
            if calls.len() >= MAX_CALLS {
                drop(calls);
                let reason = format!("{MAX_CALLS} calls are already running");
                return self.hub.finished(&key, &json!({"failed": reason}));
            }
            calls.insert(key.clone(), Arc::clone(&cancelled));
        }
        let outcome = self.run(call, &cancelled).await;
        self.calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&key);
        self.hub.finished(
            &key,
            &outcome.unwrap_or_else(|reason| json!({"failed": reason})),
        );
    }

    async fn run(self: &Arc<Self>, call: Call, cancelled: &Notify) -> Result<Value, String> {
        let stopped = || json!({"cancelled": true});
        let engine = Arc::clone(self);
        // The connection is opened in a separate task because all calls share it and it must remain open if this call
        // is cancelled.
        let opening = tokio::spawn(async move { engine.session(call.era, PATIENCE).await });
        let session = tokio::select! {
            session = opening => session.map_err(|error| error.to_string())??,
            () = cancelled.notified() => return Ok(stopped()),
        };
        let mut pending = session
            .send(&call.method, call.params, call.headers)
            .await?;
        let reply = tokio::select! {
            reply = session.reply(&mut pending) => Some(reply?),
            () = cancelled.notified() => None,
        };
        if let Some(reply) = reply {
            return Ok(json!(reply));
        }
        session.cancel(&pending).await;
        Ok(stopped())
    }

    /// Cancels a call if it is still running.
    pub(crate) fn cancel(&self, key: &str) {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cancelled) = calls.get(key) {
            cancelled.notify_one();
        }
    }

    /// Answers a question.
    pub(crate) async fn answer(&self, answer: Answer) -> Result<(), String> {
        let session = self.slot(answer.era).lock().await.clone();
        let session = session.ok_or("the connection ended")?;
        session.answer(answer.seq, answer.members).await
    }
}
