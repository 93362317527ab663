//! Arrays of messages, which only sessions of 2025-03-26 have.
//!
//! All elements run at once. Their answers are one array, or a stream of events if something was sent before the last one.
//! Specification: 2025-03-26, basic, "Batching".

use std::sync::Arc;

use hyper::StatusCode;
use hyper::header::HeaderMap;

use super::answer::{self, Refusal};
use super::headers::Accepts;
use super::legacy::{Exchange, Posted, check_version, find, is_modern, notify, one};
use super::service::Inner;
use crate::jsonrpc::{self, Id, Incoming, Message, MetaMember};

/// Serves an array of messages, which only 2025-03-26 has.
pub(super) fn post(inner: &Inner, headers: &HeaderMap, elements: &[&str]) -> Posted {
    let refuse = || {
        let refusal = Refusal::bad_request("arrays of messages are for sessions of 2025-03-26");
        Posted::from(refusal)
    };
    let version = match check_version(headers) {
        Ok(version) => version,
        Err(refusal) => return refusal.into(),
    };
    let session = match find(inner, headers) {
        Ok(Some(session)) if session.allows_batch() && !is_modern(version) => session,
        Ok(_) => return refuse(),
        Err(refusal) => return refusal.into(),
    };
    let mut messages = Vec::new();
    for element in elements {
        match jsonrpc::parse(element.as_bytes(), inner.limits()) {
            Ok(Incoming::Message(message)) if !has_claim(&message) => messages.push(message),
            _ => return Refusal::bad_request("the array holds what is no message").into(),
        }
    }
    let is_request = |message: &&Message<'_>| message.method.is_some() && message.id != Id::Absent;
    let requests = messages.iter().filter(is_request).count();
    let has_responses = messages.iter().any(|message| message.method.is_none());
    if requests > 0 && has_responses {
        return Refusal::bad_request("an array holds requests or responses, not both").into();
    }
    let accepts = Accepts::read(headers);
    let stream = session.open_stream(accepts.events, requests, inner.limits());
    if requests == 0 {
        session.forget(stream.number);
        for message in messages {
            notify(inner, &session, &message);
        }
        return answer::empty(StatusCode::ACCEPTED).into();
    }
    for message in messages {
        if !is_request(&&message) {
            notify(inner, &session, &message);
        } else if let Some(answer) = one(inner, &session, &message, &|| Arc::clone(&stream)) {
            stream.answer(&answer);
        }
    }
    Posted::Waiting(Exchange {
        session,
        stream,
        is_batch: true,
        accepts,
    })
}

fn has_claim(message: &Message<'_>) -> bool {
    message.params.meta(MetaMember::ProtocolVersion).is_some()
}
