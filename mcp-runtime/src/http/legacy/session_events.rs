//! A connection that reads a session's stream.

use std::sync::Arc;
use std::task::Context;

use hyper::Response;

use crate::http::response::body::HttpBody;
use crate::http::response::event_source::{EventSource, StreamStatus};
use crate::http::sessions::event_transfer;
use crate::http::sessions::http_session::HttpSession;
use crate::http::state::ServiceState;
use crate::http::streams::session_stream::is_standalone;
use crate::http::streams::stream_reader::StreamReader;
use crate::http::timers::expiry::ExpiryTimer;

/// Returns a response that sends the events of a stream.
pub(super) fn events_response(
    state: &ServiceState,
    session: Arc<HttpSession>,
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
    session: Arc<HttpSession>,
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
