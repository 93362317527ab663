//! GET requests, which open a session's standalone stream or resume a stream.
//!
//! Specification: 2025-11-25, basic/transports, "Listening for Messages from the Server", "Resumability and
//! Redelivery".

use std::sync::Arc;
use std::task::Context;

use hyper::Response;

use crate::legacy::post::{declared_version, is_modern};
use crate::request::RequestHead;
use crate::response;
use crate::response::{EventId, EventSource, HttpBody, HttpRefusal, StreamStatus};
use crate::sessions::event_transfer;
use crate::sessions::live_session::LiveSession;
use crate::sessions::session_registry::RequestSession;
use crate::state::ServiceState;
use crate::streams::{StreamReader, is_standalone};
use crate::timers::ExpiryTimer;

/// Opens a session's standalone stream, or resumes a stream whose connection broke.
pub(crate) async fn handle_get(state: &ServiceState, head: RequestHead<'_>) -> Response<HttpBody> {
    let opened = open_or_resume_stream(state, head).await;
    opened.unwrap_or_else(HttpRefusal::into_response)
}

/// Answers HEAD: as for GET, but no stream is opened, so another connection that reads it is not disturbed.
pub(crate) async fn describe_stream(
    state: &ServiceState,
    head: RequestHead<'_>,
) -> Response<HttpBody> {
    match find_session(state, head).await {
        Ok(Some(_)) => response::event_stream_response(HttpBody::empty()),
        Ok(None) => HttpRefusal::method_not_allowed("POST"),
        Err(refusal) => refusal.into_response(),
    }
}

/// Returns the session whose stream a request is about, or `None` if there are no streams.
async fn find_session<'h>(
    state: &ServiceState,
    head: RequestHead<'h>,
) -> Result<Option<RequestSession<'h>>, HttpRefusal> {
    let headers = head.headers;
    if is_modern(declared_version(headers)?) || !state.sessions.storage.is_lasting() {
        return Ok(None);
    }
    let found = state.sessions.find(head).await?;
    let found = found.ok_or_else(HttpRefusal::session_required)?;
    if !headers.accepts.events {
        return Err(HttpRefusal::events_not_accepted());
    }
    Ok(Some(found))
}

async fn open_or_resume_stream(
    state: &ServiceState,
    head: RequestHead<'_>,
) -> Result<Response<HttpBody>, HttpRefusal> {
    let headers = head.headers;
    let Some(found) = find_session(state, head).await? else {
        return Ok(HttpRefusal::method_not_allowed("POST"));
    };
    let session = state.sessions.find_or_create_live(&found, head.network())?;
    session.mark_used_by(head.caller);
    let reader = match headers.last_event_id() {
        None => {
            let stream = session.standalone_stream(state.limits());
            stream.new_primed_reader(stream.first_unread())
        }
        Some(id) => match id.ok().and_then(response::parse_event_id) {
            Some(event) => {
                let reader = resume_stream(state, &session, event).await?;
                if session.primes_streams() {
                    reader.map(StreamReader::repeating_last_id)
                } else {
                    reader
                }
            }
            None => None,
        },
    };
    let gone = || HttpRefusal::bad_request("there is nothing to resume after this event");
    Ok(events_response(state, session, reader.ok_or_else(gone)?))
}

/// Returns a reader for the events that follow this event on its stream. The events either are kept on this instance or
/// were stored by the instance where they occurred.
async fn resume_stream(
    state: &ServiceState,
    session: &LiveSession,
    event: EventId<'_>,
) -> Result<Option<StreamReader>, HttpRefusal> {
    let limits = state.limits();
    let number = event.stream;
    let Some(next) = event.position.checked_add(1) else {
        return Ok(None);
    };
    let kept = session.find_stream(number, limits);
    let is_ours = kept.as_ref().is_some_and(|stream| !stream.is_copy);
    let reader = kept.and_then(|stream| stream.new_reader(next));
    let (None, false, Some(store)) = (&reader, is_ours, &state.sessions.events) else {
        return Ok(reader);
    };
    let others = state.sessions.others.as_ref();
    let stream = event_transfer::fetch_stream(store, others, session, event, limits).await?;
    Ok(stream.and_then(|stream| {
        let next = if is_standalone(number) {
            stream.first_unread()
        } else {
            next
        };
        stream.new_reader(next)
    }))
}

/// Returns a response that sends the events of a stream.
pub(super) fn events_response(
    state: &ServiceState,
    session: Arc<LiveSession>,
    reader: StreamReader,
) -> Response<HttpBody> {
    if let Some(store) = &state.sessions.events {
        event_transfer::begin_storing(store, &session, &reader.stream, state.limits());
    }
    session.reader_connected();
    state.event_stream(SessionEvents {
        session,
        reader,
        expiry: ExpiryTimer::default(),
    })
}

/// A connection that reads a session's stream.
struct SessionEvents {
    session: Arc<LiveSession>,
    reader: StreamReader,
    expiry: ExpiryTimer,
}

impl EventSource for SessionEvents {
    fn poll_events(
        &mut self,
        cx: &mut Context<'_>,
        out: &mut Vec<u8>,
        is_stopping: bool,
    ) -> StreamStatus {
        // A stream that awaits an answer continues until the answer is sent or the time allowed for finishing requests
        // has run out.
        if !is_standalone(self.reader.stream.number) {
            return self.reader.poll(cx, out);
        }
        if self.expiry.poll(self.session.credentials_valid_until(), cx) {
            // The client receives the remaining events when it reconnects.
            return StreamStatus::Ended;
        }
        let status = if self.reader.is_current() {
            self.session.poll_standalone(&mut self.reader, cx, out)
        } else {
            self.reader.poll(cx, out)
        };
        if is_stopping && out.is_empty() {
            return StreamStatus::Ended;
        }
        status
    }
}

impl Drop for SessionEvents {
    fn drop(&mut self) {
        self.session.reader_disconnected();
    }
}
