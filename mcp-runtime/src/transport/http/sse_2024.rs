//! The transport of 2024: one event stream for everything the server sends, and a POST for each message of the client.
//!
//! The session lives as long as the stream, and nothing can be resumed. Both end when the credentials of the client expire,
//! unless a message has brought later ones.
//!
//! Specification: 2024-11-05, basic/transports, "HTTP with SSE".

use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::{Response, StatusCode, Uri};
use serde_json::json;

use super::answer::{self, HttpRefusal};
use super::body::{Events, HttpBody};
use super::expiry::Expiry;
use super::head::Head;
use super::service::ServiceState;
use super::session::HttpSession;
use super::stream::{SessionStream, StreamReader};
use super::{events, legacy};
use crate::context::Principal;
use crate::jsonrpc::{self, ErrorObject, Incoming, Message, MetaMember};
use crate::protocol::{ProtocolVersion, encode, errors};
use crate::telemetry::{RefusalKind, refused};

/// Query parameter, in the URL for messages, that contains the id of the connection.
const CONNECTION: &str = "connection=";

/// Opens a stream. Its first event tells the client to send messages to `path`.
pub(super) fn open(inner: &Arc<ServiceState>, head: Head<'_>, path: &str) -> Response<HttpBody> {
    if !head.headers.accepts.events {
        let error = ErrorObject::invalid_request("`Accept` must list `text/event-stream`");
        return HttpRefusal::new(StatusCode::NOT_ACCEPTABLE, error).into_response();
    }
    let session = match inner.sessions.connect(head.caller) {
        Ok(session) => session,
        Err(refusal) => return refusal.into_response(),
    };
    let stream = session.standalone(inner.limits());
    let Some(reader) = stream.reader(1, false) else {
        return HttpRefusal::unavailable("the stream has ended").into_response();
    };
    session.reader_came();
    let connection = SseConnection {
        endpoint: Some(format!("{path}?{CONNECTION}{}", session.id)),
        inner: Arc::clone(inner),
        session,
        reader,
        expiry: Expiry::default(),
    };
    inner.stream(connection)
}

/// Returns the id of the connection that a message is for, from its URL.
pub(super) fn connection(uri: &Uri) -> Option<&str> {
    let mut pairs = uri.query()?.split('&');
    pairs.find_map(|pair| pair.strip_prefix(CONNECTION))
}

/// Handles a message; its answer is sent on the stream.
pub(super) fn post(
    inner: &ServiceState,
    caller: Option<&Principal>,
    connection: &str,
    body: &[u8],
) -> Response<HttpBody> {
    let Some(session) = inner.sessions.connection(connection, caller) else {
        return HttpRefusal::unknown_session().into_response();
    };
    let stream = session.standalone(inner.limits());
    if stream.is_full() {
        let error = ErrorObject::invalid_request("the client does not read the stream");
        refused(RefusalKind::TooMany, None);
        return HttpRefusal::new(StatusCode::TOO_MANY_REQUESTS, error).into_response();
    }
    let take = |message: &Message<'_>| take(inner, caller, (&session, &stream), message);
    match jsonrpc::parse(body, &inner.limits().message.parse_limits()) {
        Ok(Incoming::Message(message)) => take(&message),
        Ok(Incoming::Batch(elements)) if session.allows_batch() => {
            for element in elements {
                match jsonrpc::parse(element.as_bytes(), &inner.limits().message.parse_limits()) {
                    Ok(Incoming::Message(message)) => take(&message),
                    Ok(Incoming::Batch(_)) | Err(_) => {
                        let error = ErrorObject::invalid_request(
                            "an element of the batch is not a message",
                        );
                        let mut out = Vec::new();
                        encode::error(&mut out, None, &error);
                        stream.answer(&out);
                    }
                }
            }
        }
        Ok(Incoming::Batch(_)) => {
            return HttpRefusal::bad_request(
                "only sessions of protocol version 2025-03-26 support batches",
            )
            .into_response();
        }
        Err((id, error)) => {
            return HttpRefusal::new(StatusCode::BAD_REQUEST, error)
                .with_id(id)
                .into_response();
        }
    }
    answer::empty(StatusCode::ACCEPTED)
}

fn take(
    inner: &ServiceState,
    caller: Option<&Principal>,
    (session, stream): (&Arc<HttpSession>, &Arc<SessionStream>),
    message: &Message<'_>,
) {
    let id = message.id.to_request_id();
    if message.method.is_none() || id.is_none() {
        legacy::take_notification(inner, session, caller, message);
        return;
    }
    if let Ok(Some(claimed)) = message.params.meta_string(MetaMember::ProtocolVersion) {
        // Modern protocol versions do not support this transport.
        let legacy: Vec<_> = ProtocolVersion::supported()
            .into_iter()
            .filter(|date| *date != ProtocolVersion::LATEST.as_str())
            .collect();
        let error = errors::unsupported_version(&claimed)
            .with_data(json!({ "supported": legacy, "requested": claimed }));
        let mut out = Vec::new();
        encode::error(&mut out, id.as_ref(), &error);
        stream.answer(&out);
        return;
    }
    if let Some(answer) = legacy::one(inner, session, caller, message, &|| Arc::clone(stream)) {
        stream.answer(&answer.into_text());
    }
}

/// The connection that carries the stream.
struct SseConnection {
    /// URL for messages, sent as the first event.
    endpoint: Option<String>,
    inner: Arc<ServiceState>,
    session: Arc<HttpSession>,
    reader: StreamReader,
    expiry: Expiry,
}

impl Events for SseConnection {
    fn poll_events(
        &mut self,
        cx: &mut Context<'_>,
        out: &mut Vec<u8>,
        is_stopping: bool,
    ) -> Poll<bool> {
        if let Some(endpoint) = self.endpoint.take() {
            events::write(out, None, "endpoint", endpoint.as_bytes());
        }
        let has_expired = self.expiry.poll(self.session.until(), cx);
        if !has_expired {
            self.session.bell.register(cx.waker());
            self.session.pump(&self.reader.stream);
        }
        let polled = self.reader.poll(cx, out);
        // Calls under way are still answered: they would end with the stream.
        let is_idle = polled.is_pending() && !self.session.is_busy();
        if is_idle && (is_stopping || has_expired) {
            return Poll::Ready(false);
        }
        polled
    }
}

impl Drop for SseConnection {
    fn drop(&mut self) {
        self.inner.sessions.disconnect(&self.session);
    }
}
