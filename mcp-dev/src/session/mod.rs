//! A single connection to the server in one era: numbers requests, passes responses to the waiting calls and the
//! server's questions to the page, and reports why the connection ended.
//!
//! This module routes messages by their ids and methods and does not examine them further. `stdio` and `http` are the
//! transports, `handshake` exchanges the first messages, and `incoming` handles messages from the server.

mod events;
mod handshake;
mod http;
mod incoming;
mod stdio;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};

use crate::hub::{Hub, WireMessage};
use crate::lines::MAX_MESSAGE;
use crate::target::Target;

/// A generation of protocol versions: up to 2025-11-25, with a handshake, or from 2026-07-28 onwards, with
/// self-contained requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Era {
    Modern,
    Legacy,
}

impl Era {
    pub(crate) const BOTH: [Self; 2] = [Self::Modern, Self::Legacy];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Modern => "modern",
            Self::Legacy => "legacy",
        }
    }

    /// Returns the protocol version that is spoken.
    pub(crate) fn version(self) -> &'static str {
        match self {
            Self::Modern => handshake::MODERN,
            Self::Legacy => handshake::LEGACY,
        }
    }
}

/// A connection.
pub(crate) struct Session {
    era: Era,
    hub: Arc<Hub>,
    link: Link,
    last_id: AtomicU64,
    /// `true` if calls may become tasks, in the modern era.
    tasks: bool,
    state: Mutex<State>,
}

/// Options for opening a connection.
#[derive(Clone, Copy)]
pub(crate) struct ConnectionOptions {
    /// Maximum time that the server may take to answer the first message.
    pub(crate) patience: Duration,
    /// `true` if calls may become tasks, in the modern era.
    pub(crate) tasks: bool,
}

enum Link {
    Stdio(stdio::StdioLink),
    Http(Box<http::HttpLink>),
}

#[derive(Default)]
struct State {
    waiting: HashMap<u64, oneshot::Sender<Result<MessageArrival, String>>>,
    /// The ids of open questions, keyed by the sequence number of their message.
    questions: HashMap<u64, Value>,
    /// The reason why the connection ended.
    ended: Option<String>,
}

struct MessageArrival {
    seq: u64,
    at: Instant,
}

/// The response to a request.
#[derive(Debug, Serialize)]
pub(crate) struct Reply {
    /// The sequence number of the request's message.
    pub(crate) request: u64,
    /// The sequence number of the response's message.
    pub(crate) response: u64,
    /// Time from the request to its response in milliseconds.
    pub(crate) ms: f64,
}

/// A request that was sent.
pub(crate) struct Pending {
    id: u64,
    request: u64,
    started: Instant,
    arrival: oneshot::Receiver<Result<MessageArrival, String>>,
}

impl Session {
    /// Starts the server or connects to it and performs the handshake, unless `halted` provides a reason to stop in the
    /// meantime. If this fails, the process has ended.
    pub(crate) async fn open(
        target: &Target,
        era: Era,
        hub: &Arc<Hub>,
        options: ConnectionOptions,
        halted: &mut watch::Receiver<Option<String>>,
    ) -> Result<(Arc<Self>, Value), String> {
        let new = |link| {
            Arc::new(Self {
                era,
                hub: Arc::clone(hub),
                link,
                last_id: AtomicU64::new(0),
                tasks: options.tasks,
                state: Mutex::default(),
            })
        };
        let session = match target {
            Target::Command(words) => {
                let (link, process) = stdio::start(words)?;
                let session = new(Link::Stdio(link));
                process.attach(&session);
                session
            }
            Target::Url { url, headers } => {
                let link = http::HttpLink::new(url.clone(), headers.clone())?;
                new(Link::Http(Box::new(link)))
            }
            Target::Project(_) => return Err("the project has not been built yet".into()),
        };
        let shaken = tokio::time::timeout(options.patience, handshake::shake(&session));
        let seconds = options.patience.as_secs();
        let shaken = tokio::select! {
            shaken = shaken => shaken.unwrap_or_else(|_| Err(format!("no answer within {seconds} s"))),
            reason = halted.wait_for(Option::is_some) => {
                Err(reason.ok().and_then(|reason| reason.clone()).unwrap_or_default())
            }
        };
        match shaken {
            Ok(status) => Ok((session, status)),
            Err(reason) => {
                session.end("the handshake failed");
                session.gone().await;
                Err(reason)
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the reason why the connection ended, if it has ended.
    pub(crate) fn ended(&self) -> Option<String> {
        self.state().ended.clone()
    }

    /// Sends a request. [`Session::reply`] returns its response.
    pub(crate) async fn send(
        self: &Arc<Self>,
        method: &str,
        params: Value,
        headers: Vec<(String, String)>,
    ) -> Result<Pending, String> {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        // Only a call can become a task. Lists are requested as a client that supports tasks, because pages support
        // tasks.
        let tasks = self.tasks || method != "tools/call";
        let params = handshake::claim(self.era, tasks, params);
        let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
        if let Some(params) = &params {
            message["params"] = params.clone();
        }
        let (sender, arrival) = oneshot::channel();
        {
            let mut state = self.state();
            if let Some(reason) = &state.ended {
                return Err(reason.clone());
            }
            state.waiting.insert(id, sender);
        }
        let started = Instant::now();
        let request = match &self.link {
            Link::Stdio(link) => {
                let text = message.to_string();
                let seq = self.sent(&text, Value::Null);
                if let Err(reason) = link.send(text).await {
                    self.fail(id, &reason);
                }
                seq
            }
            Link::Http(link) => {
                let name = params.as_ref().and_then(http::name_of);
                link.post(self, &message, Some(id), headers, name)
            }
        };
        Ok(Pending {
            id,
            request,
            started,
            arrival,
        })
    }

    /// Waits for the response to a request.
    pub(crate) async fn reply(&self, pending: &mut Pending) -> Result<Reply, String> {
        let arrived = (&mut pending.arrival).await;
        let arrived = arrived.unwrap_or_else(|_| Err("the connection ended".into()))?;
        let ms = arrived.at.duration_since(pending.started).as_secs_f64() * 1e3;
        Ok(Reply {
            request: pending.request,
            response: arrived.seq,
            ms: (ms * 1e3).round() / 1e3,
        })
    }

    /// Cancels a request in the way that the era and the transport require.
    pub(crate) async fn cancel(self: &Arc<Self>, pending: &Pending) {
        self.state().waiting.remove(&pending.id);
        if let Link::Http(link) = &self.link {
            link.drop_exchange(pending.id);
            // In the modern era, ending the stream cancels the request.
            if self.era == Era::Modern {
                return;
            }
        }
        let params = json!({"requestId": pending.id, "reason": "cancelled by the user"});
        self.notify("notifications/cancelled", params).await;
    }

    async fn notify(self: &Arc<Self>, method: &str, params: Value) {
        let mut message = json!({"jsonrpc": "2.0", "method": method});
        if !params.is_null() {
            message["params"] = params;
        }
        self.write(message).await;
    }

    /// Answers a question from the server. `answer` has a `result` or `error` member.
    pub(crate) async fn answer(self: &Arc<Self>, seq: u64, answer: Value) -> Result<(), String> {
        let id = self.state().questions.remove(&seq);
        self.hub.settle(seq);
        let id = id.ok_or("the question is no longer open")?;
        self.write_answer(id, answer).await;
        Ok(())
    }

    async fn write_answer(self: &Arc<Self>, id: Value, answer: Value) {
        let mut message = json!({"jsonrpc": "2.0", "id": id});
        if let Value::Object(members) = answer {
            for (name, value) in members {
                message[name] = value;
            }
        }
        self.write(message).await;
    }

    /// Writes a message that has no response.
    async fn write(self: &Arc<Self>, message: Value) {
        match &self.link {
            Link::Stdio(link) => {
                let text = message.to_string();
                self.sent(&text, Value::Null);
                // If the process has ended, `ended` contains the reason.
                let _ = link.send(text).await;
            }
            Link::Http(link) => {
                link.post(self, &message, None, Vec::new(), None);
            }
        }
    }

    fn sent(&self, text: &str, notes: Value) -> u64 {
        let wire = WireMessage {
            era: self.era,
            sent: true,
            text,
            notes,
            droppable: false,
        };
        self.hub.message(wire).unwrap_or_default()
    }

    /// Fails a request that can no longer receive a response.
    fn fail(&self, id: u64, reason: &str) {
        if let Some(waiting) = self.state().waiting.remove(&id) {
            let _ = waiting.send(Err(reason.to_owned()));
        }
    }

    fn is_waiting(&self, id: u64) -> bool {
        self.state().waiting.contains_key(&id)
    }

    /// Ends the connection: stops the server and fails all requests with this reason.
    pub(crate) fn end(&self, reason: &str) {
        let (waiting, questions) = {
            let mut state = self.state();
            if state.ended.is_some() {
                return;
            }
            state.ended = Some(reason.to_owned());
            (
                std::mem::take(&mut state.waiting),
                std::mem::take(&mut state.questions),
            )
        };
        for waiting in waiting.into_values() {
            let _ = waiting.send(Err(reason.to_owned()));
        }
        for seq in questions.into_keys() {
            self.hub.settle(seq);
        }
        match &self.link {
            Link::Stdio(link) => link.stop(),
            Link::Http(link) => link.leave(),
        }
    }

    /// Ends the connection because the server has ended.
    fn died(&self, reason: &str) {
        if self.ended().is_none() {
            self.hub
                .era(self.era, json!({"state": "closed", "reason": reason}));
        }
        self.end(reason);
    }

    /// Waits until the server's process has ended.
    pub(crate) async fn gone(&self) {
        if let Link::Stdio(link) = &self.link {
            link.gone().await;
        }
    }
}
