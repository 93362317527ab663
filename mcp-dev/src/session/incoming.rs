//! Handles data from a server: passes responses to the waiting calls and questions to the page, and shows any other
//! data as it is.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{MessageArrival, Session};
use crate::hub::WireMessage;

/// Maximum number of questions from a server that may be open at the same time.
const MAX_QUESTIONS: usize = 100;
/// Maximum size of a question's parameters in bytes, because every page receives them.
const MAX_QUESTION: usize = 1 << 20;

/// The contents of a message's envelope.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(default)]
    id: Value,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

impl Session {
    /// Handles a message, or a batch of messages, from the server. During a flood of requests, this waits once the
    /// maximum number per second is reached, because messages that the server is waiting for must not be dropped.
    pub(super) async fn receive(self: &Arc<Self>, text: &str, notes: &Value) {
        if text.trim_start().starts_with('[') {
            match serde_json::from_str::<Vec<&RawValue>>(text) {
                Ok(batch) => {
                    for one in batch {
                        self.receive_one(one.get(), notes).await;
                    }
                }
                Err(error) => self.stray(text, &format!("not JSON: {error}")),
            }
        } else {
            self.receive_one(text, notes).await;
        }
    }

    async fn receive_one(self: &Arc<Self>, text: &str, notes: &Value) {
        let envelope = match serde_json::from_str::<Envelope<'_>>(text) {
            Ok(envelope) => envelope,
            Err(error) => return self.stray(text, &format!("not a JSON-RPC message: {error}")),
        };
        let wire = |droppable| WireMessage {
            era: self.era,
            sent: false,
            text,
            notes: notes.clone(),
            droppable,
        };
        let has_id = !envelope.id.is_null();
        match envelope.method {
            Some(method) if has_id => {
                self.hub.turn().await;
                if let Some(seq) = self.hub.message(wire(false)) {
                    self.asked(seq, envelope.id, &method, envelope.params);
                }
            }
            Some(method) => {
                self.hub.message(wire(true));
                if method == "notifications/cancelled" {
                    self.question_cancelled(envelope.params);
                }
            }
            None if envelope.result.is_some() || envelope.error.is_some() => {
                let waiting = envelope.id.as_u64();
                let waiting = waiting.and_then(|id| self.state().waiting.remove(&id));
                let Some(waiting) = waiting else {
                    // This question arrived while the connection was being closed.
                    if self.ended().is_some() {
                        self.hub.message(wire(true));
                        return;
                    }
                    return self.stray(text, "a response that matches no open request");
                };
                let at = Instant::now();
                let seq = self.hub.message(wire(false)).unwrap_or_default();
                // The page may have cancelled the call in the meantime.
                let _ = waiting.send(Ok(MessageArrival { seq, at }));
            }
            None => self.stray(text, "neither a request nor a response"),
        }
    }

    /// Shows data that is not a message.
    pub(super) fn stray(&self, text: &str, why: &str) {
        let notes = json!({"stray": why});
        let wire = WireMessage {
            era: self.era,
            sent: false,
            text,
            notes,
            droppable: true,
        };
        self.hub.message(wire);
    }

    fn asked(self: &Arc<Self>, seq: u64, id: Value, method: &str, params: Option<&RawValue>) {
        let answer = match method {
            "ping" => json!({"result": {}}),
            _ if params.is_some_and(|params| params.get().len() > MAX_QUESTION) => {
                let message = format!("the question is larger than {} MiB", MAX_QUESTION >> 20);
                json!({"error": {"code": -32000, "message": message}})
            }
            "elicitation/create" | "sampling/createMessage" | "roots/list" => {
                let shown = params.and_then(|params| serde_json::from_str(params.get()).ok());
                let shown: Value = shown.unwrap_or_default();
                let mut state = self.state();
                if state.questions.len() < MAX_QUESTIONS {
                    state.questions.insert(seq, id);
                    // This is done under the lock so that the question is open everywhere when the session ends.
                    return self.hub.ask(self.era, seq, method, &shown);
                }
                let message = format!("more than {MAX_QUESTIONS} questions are open");
                json!({"error": {"code": -32000, "message": message}})
            }
            _ => json!({"error": {"code": -32601, "message": "Method not found"}}),
        };
        let session = Arc::clone(self);
        tokio::spawn(async move { session.write_answer(id, answer).await });
    }

    fn question_cancelled(&self, params: Option<&RawValue>) {
        let params = params.and_then(|params| serde_json::from_str::<Value>(params.get()).ok());
        let Some(id) = params.and_then(|params| params.get("requestId").cloned()) else {
            return;
        };
        let mut state = self.state();
        let seq = state.questions.iter().find(|(_, open)| **open == id);
        if let Some(seq) = seq.map(|(seq, _)| *seq) {
            state.questions.remove(&seq);
            drop(state);
            self.hub.settle(seq);
        }
    }
}
