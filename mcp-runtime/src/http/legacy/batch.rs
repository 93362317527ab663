//! Batches: arrays of messages, which are supported only in 2025-03-26 sessions.
//!
//! All elements run concurrently. The answers are sent as a single array, or as an event stream if another message is
//! sent before the last answer. Specification: 2025-03-26, basic, "Batching".

use std::sync::Arc;

use hyper::StatusCode;

use crate::dispatch::read_batch;
use crate::http::legacy::post::{
    AwaitedAnswers, PendingWork, declared_version, error_message, handle_notification, is_modern,
    require_live_session, serve_on_stream,
};
use crate::http::request::head::RequestHead;
use crate::http::response::answer;
use crate::http::response::answer::PendingResponse;
use crate::http::response::refusal::HttpRefusal;
use crate::http::sessions::live_sessions::SessionLookup;
use crate::http::state::ServiceState;
use crate::http::stores::session_storage::SessionStorage;
use crate::http::streams::session_stream::AwaitedAnswer;
use crate::jsonrpc::{Id, Message};
use crate::protocol::ProtocolVersion;

/// Serves a batch of messages.
pub(in crate::http) fn serve_batch<'s>(
    state: &'s ServiceState,
    head: RequestHead<'_>,
    found: SessionLookup<'_>,
    elements: &[&str],
) -> PendingResponse<'s> {
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
    let agreed = agreed.filter(|_| !is_modern(version));
    let limits = state.limits().message.parse_limits();
    let elements = match read_batch(elements, agreed, &limits) {
        Ok(elements) => elements,
        Err(error) => return HttpRefusal::new(StatusCode::BAD_REQUEST, error).into(),
    };
    let messages = || elements.iter().filter_map(|element| element.as_ref().ok());
    let is_request = |message: &Message<'_>| message.method.is_some() && message.id != Id::Absent;
    let requests = messages().filter(|message| is_request(message)).count();
    if requests > 0 && messages().any(|message| message.method.is_none()) {
        return HttpRefusal::bad_request("a batch must not contain both requests and responses")
            .into();
    }
    let invalid = elements.iter().filter(|element| element.is_err()).count();
    let session = match require_live_session(state, head, found.as_ref(), version) {
        Ok(session) => session,
        Err(refusal) => return refusal.into(),
    };
    let save = |session| {
        found
            .as_ref()
            .and_then(|found| found.pending_save_if_changed(session, None))
    };
    let answers = requests.saturating_add(invalid);
    let handle = |message: &Message<'_>| {
        handle_notification(state, (Some(&*session), &session.id), head.caller, message)
    };
    if answers == 0 {
        let outgoing = messages().filter_map(handle).collect();
        let save = save(&session);
        let accepted = answer::empty_response(StatusCode::ACCEPTED);
        return PendingWork { save, outgoing }.then_respond(state, accepted, || None);
    }
    let accepts = head.headers.accepts;
    if !accepts.json && !accepts.events {
        return HttpRefusal::answer_not_accepted().into();
    }
    // A challenge for one call must not replace the answers to the other calls in the batch.
    head.parts.send_head(|| false);
    let stream = session.open_stream(
        accepts.events,
        AwaitedAnswer::Batch(answers),
        state.limits(),
    );
    let mut outgoing = Vec::new();
    let open = || Arc::clone(&stream);
    for element in &elements {
        match element {
            Ok(message) if is_request(message) => {
                let answer = serve_on_stream(state, &session, head, message, &open);
                if let Some(answer) = answer {
                    stream.push_answer(&answer.into_text());
                }
            }
            Ok(message) => outgoing.extend(handle(message)),
            Err((id, error)) => stream.push_answer(&error_message(id.as_ref(), error)),
        }
    }
    if found.is_none() {
        state.sessions.keep_live(&session);
    }
    let save = save(&session);
    let answers = AwaitedAnswers {
        session,
        stream,
        is_batch: true,
        accepts,
    };
    let respond = async move {
        match (PendingWork { save, outgoing }).complete(state).await {
            Ok(()) => answers.wait_for_answers(state).await,
            Err(refusal) => refusal.into_response(),
        }
    };
    PendingResponse::from_future(respond, None)
}
