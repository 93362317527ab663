//! The 2024-11-05 transport: a single event stream for all messages from the server, and a POST request for each
//! message from the client.
//!
//! The stream cannot be resumed, and the session lasts only as long as the stream. Both end when the client's
//! credentials expire, unless a later message includes credentials that expire later.
//!
//! Specification: 2024-11-05, basic/transports, "HTTP with SSE".

use std::sync::Arc;
use std::task::Context;

use hyper::{Response, StatusCode, Uri};
use mcp_core::dispatch::read_batch;
use mcp_core::observe::{RefusalKind, record_refusal};
use mcp_protocol::jsonrpc::{ErrorObject, Incoming, Message, MetaMember};
use mcp_protocol::{ProtocolVersion, errors, jsonrpc};
use serde_json::json;

use crate::legacy::post::{error_message, handle_notification, serve_on_stream};
use crate::request::{RequestHead, RequestHeaders, tags};
use crate::response;
use crate::response::{EventSource, HttpBody, HttpRefusal, StreamStatus};
use crate::sessions::live_session::LiveSession;
use crate::state::ServiceState;
use crate::streams::{SessionStream, StreamReader};
use crate::timers::ExpiryTimer;

/// Query parameter that contains the connection id in the URL for messages.
const CONNECTION: &str = "connection=";

/// Answers HEAD: as for GET, but no stream is opened.
pub(crate) fn describe_sse_connection(headers: &RequestHeaders<'_>) -> Response<HttpBody> {
    if headers.accepts.events {
        response::event_stream_response(HttpBody::empty())
    } else {
        HttpRefusal::events_not_accepted().into_response()
    }
}

/// Opens a stream whose first event tells the client to send messages to `path`.
pub(crate) fn open_sse_connection(
    state: &Arc<ServiceState>,
    head: RequestHead<'_>,
    path: &str,
) -> Response<HttpBody> {
    if !head.headers.accepts.events {
        return HttpRefusal::events_not_accepted().into_response();
    }
    let session = match state
        .sessions
        .open_sse_connection(head.caller, head.network())
    {
        Ok(session) => session,
        Err(refusal) => return refusal.into_response(),
    };
    let stream = session.standalone_stream(state.limits());
    let Some(reader) = stream.new_reader(1) else {
        return HttpRefusal::unavailable("the stream has ended").into_response();
    };
    session.reader_connected();
    let mut endpoint = format!("{path}?{CONNECTION}{}", session.id);
    if let Ok(Some(tags)) = tags::raw_query_tags(head.uri) {
        // The client sends messages only to this URL, so the URL must include the tags.
        endpoint.push_str("&tags=");
        endpoint.push_str(tags);
    }
    let connection = SseConnection {
        endpoint: Some(endpoint),
        state: Arc::clone(state),
        session,
        reader,
        expiry: ExpiryTimer::default(),
    };
    state.event_stream(connection)
}

/// Returns the connection id from the URL to which a message was sent.
pub(crate) fn connection_id(uri: &Uri) -> Option<&str> {
    let mut pairs = uri.query()?.split('&');
    pairs.find_map(|pair| pair.strip_prefix(CONNECTION))
}

/// Handles a message and sends the response on the stream.
pub(crate) fn handle_post(
    state: &ServiceState,
    head: RequestHead<'_>,
    connection: &str,
    body: &[u8],
) -> Response<HttpBody> {
    let Some(session) = state.sessions.find_connection(connection, head.caller) else {
        return HttpRefusal::unknown_session().into_response();
    };
    let stream = session.standalone_stream(state.limits());
    if stream.is_full() {
        let error = ErrorObject::invalid_request("the client is not reading the stream");
        record_refusal(RefusalKind::TooMany, None);
        return HttpRefusal::new(StatusCode::TOO_MANY_REQUESTS, error).into_response();
    }
    let take = |message: &Message<'_>| serve_message(state, head, &session, &stream, message);
    let limits = state.limits().message.parse_limits();
    match jsonrpc::parse(body, &limits) {
        Ok(Incoming::Message(message)) => take(&message),
        Ok(Incoming::Batch(elements)) => {
            let elements = match read_batch(&elements, session.version(), &limits) {
                Ok(elements) => elements,
                Err(error) => {
                    return HttpRefusal::new(StatusCode::BAD_REQUEST, error).into_response();
                }
            };
            for element in elements {
                match element {
                    Ok(message) => take(&message),
                    Err((id, error)) => stream.push_answer(&error_message(id.as_ref(), &error)),
                }
            }
        }
        Err((id, error)) => {
            return HttpRefusal::new(StatusCode::BAD_REQUEST, error)
                .with_id(id)
                .into_response();
        }
    }
    response::empty_response(StatusCode::ACCEPTED)
}

fn serve_message(
    state: &ServiceState,
    head: RequestHead<'_>,
    session: &Arc<LiveSession>,
    stream: &Arc<SessionStream>,
    message: &Message<'_>,
) {
    let id = message.id.to_request_id();
    if message.method.is_none() || id.is_none() {
        // All of a connection's calls run on this instance, so no message is meant for another instance.
        let (live, id) = (Some(&**session), &session.id);
        drop(handle_notification(state, live, id, head.caller, message));
        return;
    }
    if let Ok(Some(claimed)) = message.params.meta_string(MetaMember::ProtocolVersion) {
        // Modern protocol versions do not support this transport.
        let supported = ProtocolVersion::supported_by_handshake();
        let error = errors::unsupported_version(&claimed)
            .with_data(json!({ "supported": supported, "requested": claimed }));
        stream.push_answer(&error_message(id.as_ref(), &error));
        return;
    }
    if let Some(answer) = serve_on_stream(state, session, head, message, &|| Arc::clone(stream)) {
        stream.push_answer(&answer.into_text());
    }
}

/// The connection that carries the stream.
struct SseConnection {
    /// URL for messages, sent as the first event.
    endpoint: Option<String>,
    state: Arc<ServiceState>,
    session: Arc<LiveSession>,
    reader: StreamReader,
    expiry: ExpiryTimer,
}

impl EventSource for SseConnection {
    fn poll_events(
        &mut self,
        cx: &mut Context<'_>,
        out: &mut Vec<u8>,
        is_stopping: bool,
    ) -> StreamStatus {
        if let Some(endpoint) = self.endpoint.take() {
            response::write_event(out, None, "endpoint", endpoint.as_bytes());
        }
        let has_expired = self.expiry.poll(self.session.credentials_valid_until(), cx);
        let status = if has_expired {
            self.reader.poll(cx, out)
        } else {
            self.session.poll_standalone(&mut self.reader, cx, out)
        };
        // Calls in progress would end with the stream, so the stream remains open until they have been answered.
        let is_idle = out.is_empty() && !self.session.is_busy();
        if is_idle && (is_stopping || has_expired) {
            return StreamStatus::Ended;
        }
        status
    }
}

impl Drop for SseConnection {
    fn drop(&mut self) {
        self.state.sessions.disconnect(&self.session);
    }
}
