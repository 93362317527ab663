//! Passes clients' messages to the instances where their calls run.
//!
//! The ids of questions and streams begin with their instance's tag, so no request has to look up the instance.

use std::sync::Arc;
use std::time::Duration;

use mcp_core::context::StoreFuture;
use mcp_core::random::{random, random_id};
use mcp_protocol::jsonrpc::{Message, RequestId};
use mcp_stores::{InstanceRelay, RelayedTexts, StoreFailed, timeout_while_running};
use serde::Serialize;
use serde_json::Value;
use tokio::time::sleep;

use crate::response::HttpRefusal;

/// Number of attempts to reach the instance that asked a question. The instance may still be registering.
const ANSWER_ATTEMPTS: u32 = 3;
const ANSWER_RETRY_DELAY: Duration = Duration::from_millis(300);

/// A message about a session, in the form in which the relay carries it.
#[derive(Debug, Serialize)]
pub(super) struct RelayedMessage {
    pub(super) session: String,
    pub(super) event: SessionEvent,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum SessionEvent {
    /// The client answered a question: a result or an error as JSON.
    Answered {
        id: String,
        result: Option<String>,
        error: Option<String>,
    },
    /// The client cancelled the request with this id.
    Cancelled(String),
    /// The session's record has changed.
    Changed,
    /// The session has ended.
    Ended,
}

impl RelayedMessage {
    /// Reads the JSON of a message. Returns `None` if it has a different form, as another build may write it.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let message: Value = serde_json::from_str(text).ok()?;
        let string = |value: &Value| value.as_str().map(str::to_owned);
        Some(Self {
            session: string(message.get("session")?)?,
            event: match message.get("event")? {
                Value::String(name) if name == "changed" => SessionEvent::Changed,
                Value::String(name) if name == "ended" => SessionEvent::Ended,
                event => match (event.get("answered"), event.get("cancelled")) {
                    (Some(answered), _) => SessionEvent::Answered {
                        id: string(answered.get("id")?)?,
                        result: answered.get("result").and_then(string),
                        error: answered.get("error").and_then(string),
                    },
                    (None, cancelled) => SessionEvent::Cancelled(string(cancelled?)?),
                },
            },
        })
    }
}

/// A message that must be sent before its request is answered.
#[derive(Debug)]
pub(crate) struct OutgoingMessage {
    /// The beginning of the recipients' names.
    to: String,
    message: RelayedMessage,
}

/// The server's other instances, as far as its sessions are concerned.
pub(crate) struct OtherInstances {
    relay: Arc<dyn InstanceRelay>,
    pub(super) tag: InstanceTag,
    name: String,
}

impl OtherInstances {
    pub(super) fn new(relay: Arc<dyn InstanceRelay>) -> Arc<Self> {
        let tag = InstanceTag::random();
        Arc::new(Self {
            relay,
            tag,
            name: tag.prefix() + &random_id::<12>(),
        })
    }

    /// Returns the message to another instance for a client's answer, or `None` if the question was not asked there.
    pub(crate) fn forward_answer(
        &self,
        session: &str,
        message: &Message<'_>,
    ) -> Option<OutgoingMessage> {
        let id = message.id.valid()?;
        let tag = InstanceTag::of_question(id).filter(|tag| *tag != self.tag)?;
        let event = SessionEvent::Answered {
            id: id.as_json().to_owned(),
            result: message.result.map(str::to_owned),
            error: message.error.map(str::to_owned),
        };
        Some(OutgoingMessage::new(tag.prefix(), session, event))
    }

    /// Returns the message to all other instances for a request that was cancelled and does not run here.
    pub(crate) fn forward_cancellation(session: &str, id: &RequestId) -> OutgoingMessage {
        let event = SessionEvent::Cancelled(id.as_json().to_owned());
        OutgoingMessage::new(String::new(), session, event)
    }

    /// Sends a message. Fails if the relay fails, or if the instance that asked is gone.
    pub(super) async fn send(
        &self,
        outgoing: &OutgoingMessage,
        limit: Duration,
    ) -> Result<(), HttpRefusal> {
        // Serialization cannot fail because a message consists only of strings.
        let text = serde_json::to_string(&outgoing.message).unwrap_or_default();
        for attempt in 1..=ANSWER_ATTEMPTS {
            let sent = timeout_while_running(limit, self.relay.send(&outgoing.to, &text)).await;
            let sent = sent.unwrap_or_else(|| Err(format!("it took longer than {limit:?}").into()));
            let reached = sent.map_err(|error| {
                tracing::warn!(%error, "a message cannot be delivered to its target instance");
                HttpRefusal::from(StoreFailed)
            })?;
            if reached > 0 || outgoing.to.is_empty() {
                return Ok(());
            }
            if attempt < ANSWER_ATTEMPTS {
                sleep(ANSWER_RETRY_DELAY).await;
            }
        }
        Err(HttpRefusal::bad_request(
            "the server instance that sent this request has ended",
        ))
    }

    /// Receives the messages for this instance after a position, and keeps the instance alive.
    pub(super) fn receive<'a>(
        &'a self,
        lease: Duration,
        after: Option<&'a str>,
    ) -> StoreFuture<'a, RelayedTexts> {
        self.relay.receive(&self.name, lease, after)
    }

    /// Returns `true` if an instance with this tag is alive, or `None` if this is unknown.
    pub(super) async fn is_alive(&self, tag: InstanceTag, limit: Duration) -> Option<bool> {
        let names = timeout_while_running(limit, self.relay.instances())
            .await?
            .ok()?;
        let prefix = tag.prefix();
        Some(names.iter().any(|name| name.starts_with(&prefix)))
    }
}

impl OutgoingMessage {
    pub(super) fn new(to: String, session: &str, event: SessionEvent) -> Self {
        let session = session.to_owned();
        Self {
            to,
            message: RelayedMessage { session, event },
        }
    }
}

// An instance's tag, which is the prefix of the ids of its questions and streams.

/// A number that distinguishes this instance from others. Two instances can have the same number by chance. They then
/// receive each other's messages, but do not recognize the sessions named in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InstanceTag(u32);

/// Number of bits in a tag.
const TAG_BITS: u32 = 28;
/// Number of bits that follow the tag in a question's id. Any JSON number can represent the whole id exactly.
const QUESTION_BITS: u32 = 25;
/// Number of bits that follow the tag in a stream's number.
const STREAM_BITS: u32 = 34;

impl InstanceTag {
    pub(super) fn random() -> Self {
        Self(u32::from_ne_bytes(random()) >> (u32::BITS - TAG_BITS))
    }

    /// Returns the number after which the numbers of a live part's questions begin.
    pub(super) fn first_question(self) -> u64 {
        self.numbers(
            QUESTION_BITS,
            u64::from_ne_bytes(random()) >> (65 - QUESTION_BITS),
        )
    }

    /// Returns the number at which the numbers of a live part's streams begin.
    pub(super) fn first_stream(self, random: u64) -> u64 {
        self.numbers(STREAM_BITS, random >> (65 - STREAM_BITS))
    }

    fn numbers(self, bits: u32, start: u64) -> u64 {
        (u64::from(self.0) << bits) | start
    }

    /// Returns the instance that asked the question with this id.
    pub(super) fn of_question(id: &RequestId) -> Option<Self> {
        let number: u64 = id.as_json().parse().ok()?;
        u32::try_from(number >> QUESTION_BITS).ok().map(Self)
    }

    /// Returns the instance where the call of the stream with this number runs.
    pub(super) fn of_stream(number: u64) -> Option<Self> {
        u32::try_from(number >> STREAM_BITS).ok().map(Self)
    }

    /// Returns the beginning of the instance's name.
    pub(super) fn prefix(self) -> String {
        format!("{:07x}-", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_to_other_instances_arrive_as_they_were_sent() {
        let answered = |result: Option<&str>, error: Option<&str>| SessionEvent::Answered {
            id: "\"a\"".into(),
            result: result.map(Into::into),
            error: error.map(Into::into),
        };
        for event in [
            answered(Some("{\"x\":1}"), None),
            answered(None, Some("{}")),
            SessionEvent::Cancelled("7".into()),
            SessionEvent::Changed,
            SessionEvent::Ended,
        ] {
            let session = "s".to_owned();
            let text = serde_json::to_string(&RelayedMessage { session, event }).unwrap();
            let read = RelayedMessage::parse(&text).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), text);
        }
        for other in [
            "",
            "[]",
            r#"{"session":"s"}"#,
            r#"{"session":1,"event":"ended"}"#,
            r#"{"session":"s","event":"moved"}"#,
            r#"{"session":"s","event":{"answered":{}}}"#,
            r#"{"session":"s","event":{"cancelled":7}}"#,
        ] {
            assert!(RelayedMessage::parse(other).is_none(), "{other}");
        }
    }

    #[test]
    fn ids_of_requests_and_streams_contain_their_instance() {
        for tag in [
            InstanceTag(0),
            InstanceTag((1 << TAG_BITS) - 1),
            InstanceTag::random(),
        ] {
            assert_eq!(tag.prefix().len(), 8);
            let first = tag.first_question();
            for number in [first, first + (1 << (QUESTION_BITS - 1))] {
                assert!(number < 1 << 53, "{number} is exact in JSON");
                let id = RequestId::from_valid(&number.to_string());
                assert_eq!(InstanceTag::of_question(&id), Some(tag));
            }
            for random in [0, u64::MAX] {
                let first = tag.first_stream(random);
                for number in [first, first + (1 << (STREAM_BITS - 1))] {
                    assert!(number < 1 << 62);
                    assert_eq!(InstanceTag::of_stream(number), Some(tag));
                }
            }
        }
        for foreign in ["\"1\"", "-1", "1.5", "99999999999999999999"] {
            let id = RequestId::from_valid(foreign);
            assert_eq!(InstanceTag::of_question(&id), None, "{foreign}");
        }
    }
}
