//! Batches: arrays of messages, which are supported only in 2025-03-26 sessions.
//!
//! All elements run concurrently. Their answers form a single array, or an event stream if another message is sent
//! before the last answer. Specification: 2025-03-26, basic, "Batching".

use std::sync::Arc;

use hyper::StatusCode;

use crate::http::legacy::posted::{AwaitedAnswers, PostOutcome, PostResponse};
use crate::http::legacy::requests::{live_session, serve_on_stream, take_notification};
use crate::http::legacy::version_header::{declared_version, is_modern};
use crate::http::request::head::RequestHead;
use crate::http::response::answer;
use crate::http::response::refusal::HttpRefusal;
use crate::http::sessions::session_lookup::SessionLookup;
use crate::http::state::ServiceState;
use crate::http::stores::session_storage::SessionStorage;
use crate::jsonrpc::{self, Id, Incoming, Message, MetaMember};
use crate::protocol::ProtocolVersion;

/// Serves a batch of messages.
pub(in crate::http) fn serve_batch(
    state: &ServiceState,
    head: RequestHead<'_>,
    found: SessionLookup<'_>,
    elements: &[&str],
) -> PostOutcome {
    let version = match declared_version(head.headers) {
        Ok(version) => version,
        Err(refusal) => return refusal.into(),
    };
    let found = match found {
        Ok(found) => found,
        Err(refusal) => return refusal.into(),
    };
    let agreed = match (&found, &state.sessions.storage) {
        (Some(found), _) => Some(found.record.version()),
        (None, SessionStorage::None) => Some(version.unwrap_or(ProtocolVersion::WITHOUT_HEADER)),
        (None, _) => None,
    };
    if is_modern(version) || !agreed.is_some_and(ProtocolVersion::has_batches) {
        return HttpRefusal::batch_not_supported().into();
    }
    let mut messages = Vec::new();
    for element in elements {
        match jsonrpc::parse(element.as_bytes(), &state.limits().message.parse_limits()) {
            Ok(Incoming::Message(message)) if !has_claim(&message) => messages.push(message),
            _ => return HttpRefusal::bad_request("the batch contains an invalid message").into(),
        }
    }
    let is_request = |message: &&Message<'_>| message.method.is_some() && message.id != Id::Absent;
    let requests = messages.iter().filter(is_request).count();
    let has_responses = messages.iter().any(|message| message.method.is_none());
    if requests > 0 && has_responses {
        return HttpRefusal::bad_request("a batch must not contain both requests and responses")
            .into();
    }
    let session = match live_session(state, found.as_ref(), version) {
        Ok(session) => session,
        Err(refusal) => return refusal.into(),
    };
    let save = |session| {
        found
            .as_ref()
            .and_then(|found| found.changed(session, None))
    };
    if requests == 0 {
        for message in &messages {
            take_notification(state, &session, head.caller, message);
        }
        return PostOutcome {
            save: save(&session),
            answer: PostResponse::Over(answer::empty(StatusCode::ACCEPTED)),
        };
    }
    let accepts = head.headers.accepts;
    // The other calls of the batch must not be answered with the challenge of one.
    head.parts.send_head(false);
    let stream = session.open_stream(accepts.events, requests, state.limits());
    for message in &messages {
        if !is_request(&message) {
            take_notification(state, &session, head.caller, message);
        } else if let Some(answer) =
            serve_on_stream(state, &session, head, message, &|| Arc::clone(&stream))
        {
            stream.answer(&answer.into_text());
        }
    }
    if found.is_none() {
        state.sessions.keep_live(&session);
    }
    PostOutcome {
        save: save(&session),
        answer: PostResponse::Waiting(AwaitedAnswers {
            session,
            stream,
            is_batch: true,
            accepts,
        }),
    }
}

fn has_claim(message: &Message<'_>) -> bool {
    message.params.meta(MetaMember::ProtocolVersion).is_some()
}
