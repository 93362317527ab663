//! Connections that read streams of sessions: the stream that a GET opens, and those that a client resumes.
//!
//! Specification: 2025-11-25, basic/transports, "Listening for Messages from the Server", "Resumability and Redelivery".

use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::{Response, StatusCode};

use super::answer::HttpRefusal;
use super::body::{Events, HttpBody};
use super::expiry::Expiry;
use super::head::Head;
use super::legacy::{check_version, is_modern, session_required};
use super::service::ServiceState;
use super::session::HttpSession;
use super::stream::{StreamReader, is_standalone};
use super::{events, movers};
use crate::jsonrpc::ErrorObject;

/// Opens the standalone stream of a session, or resumes a stream whose connection broke.
pub(super) async fn get(inner: &ServiceState, head: Head<'_>) -> Response<HttpBody> {
    let opened = open(inner, head).await;
    opened.unwrap_or_else(HttpRefusal::into_response)
}

async fn open(inner: &ServiceState, head: Head<'_>) -> Result<Response<HttpBody>, HttpRefusal> {
    let headers = head.headers;
    if is_modern(check_version(headers)?) || !inner.sessions.keeping.is_lasting() {
        return Ok(HttpRefusal::method("POST"));
    }
    let found = inner.sessions.find(head).await?;
    let found = found.ok_or_else(session_required)?;
    if !headers.accepts.events {
        let error = ErrorObject::invalid_request("`Accept` must list `text/event-stream`");
        return Err(HttpRefusal::new(StatusCode::NOT_ACCEPTABLE, error));
    }
    let session = inner.sessions.resume(&found)?;
    session.attend(head.caller);
    let reader = match headers.last_event() {
        None => {
            let stream = session.standalone(inner.limits());
            stream.reader(stream.unread_place(), true)
        }
        Some(id) => match id.ok().and_then(events::read_id) {
            Some(event) => resume(inner, &session, event).await?,
            None => None,
        },
    };
    let gone = || HttpRefusal::bad_request("there is nothing to resume after this event");
    Ok(following(inner, session, reader.ok_or_else(gone)?))
}

/// Returns a reader of the events of a stream after this one, kept here or stored by the instance where they occurred.
async fn resume(
    inner: &ServiceState,
    session: &HttpSession,
    (number, place): (u64, u64),
) -> Result<Option<StreamReader>, HttpRefusal> {
    let limits = inner.limits();
    let Some(next) = place.checked_add(1) else {
        return Ok(None);
    };
    let kept = session.stream(number, limits);
    let is_ours = kept.as_ref().is_some_and(|stream| !stream.is_copy);
    let reader = kept.and_then(|stream| stream.reader(next, false));
    let (None, false, Some(store)) = (&reader, is_ours, &inner.sessions.events) else {
        return Ok(reader);
    };
    let stream = movers::fetch(store, session, (number, place), limits).await?;
    Ok(stream.and_then(|stream| {
        let next = if is_standalone(number) {
            stream.unread_place()
        } else {
            next
        };
        stream.reader(next, false)
    }))
}

/// Returns a response that sends the events of a stream.
pub(super) fn following(
    inner: &ServiceState,
    session: Arc<HttpSession>,
    reader: StreamReader,
) -> Response<HttpBody> {
    if let Some(store) = &inner.sessions.events {
        movers::begin_storing(store, &session, &reader.stream, inner.limits());
    }
    session.reader_came();
    let expiry = Expiry::default();
    inner.stream(Following {
        session,
        reader,
        expiry,
    })
}

/// A connection that reads a stream of a session.
struct Following {
    session: Arc<HttpSession>,
    reader: StreamReader,
    expiry: Expiry,
}

impl Events for Following {
    fn poll_events(
        &mut self,
        cx: &mut Context<'_>,
        out: &mut Vec<u8>,
        is_stopping: bool,
    ) -> Poll<bool> {
        // A stream that awaits an answer continues until the answer is sent, or the time to finish is over.
        let is_standalone = is_standalone(self.reader.stream.number);
        if is_standalone && self.expiry.poll(self.session.until(), cx) {
            // Its client gets the rest when it reconnects.
            return Poll::Ready(false);
        }
        if is_standalone && self.reader.is_current() {
            // Register before draining: only the first change after a drain rings the bell.
            self.session.bell.register(cx.waker());
            self.session.pump(&self.reader.stream);
        }
        let polled = self.reader.poll(cx, out);
        if is_standalone && polled.is_pending() && is_stopping {
            return Poll::Ready(false);
        }
        polled
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.session.reader_left();
    }
}
