//! POST requests: a handshake, another request, a notification, an answer to a request from the server, or a batch of
//! these.
//!
//! Specification: 2025-11-25, basic/transports, "Streamable HTTP"; the decisions are recorded in
//! `docs/requirements.md`, section 3.3.

use std::cell::OnceCell;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::{Response, StatusCode};
use mcp_core::context::Principal;
use mcp_core::dispatch::{
    Decision, RequestDecision, WrittenResponse, cancelled_request, read_batch,
};
use mcp_core::observe::{RefusalKind, record_refusal};
use mcp_protocol::jsonrpc::{ErrorObject, Id, Incoming, Message, RequestId};
use mcp_protocol::{ClientNotification, Era, Method, ProtocolVersion, encode, errors};
use mcp_stores::SessionUpdate;
use serde_json::json;

use crate::legacy::get::events_response;
use crate::legacy::handshake::handle_initialize;
use crate::request::{AcceptedContentTypes, RequestHead, RequestHeaders};
use crate::response;
use crate::response::{HttpBody, HttpRefusal, PendingResponse, ResponseMessage};
use crate::sessions::live_session::LiveSession;
use crate::sessions::other_instances::{OtherInstances, OutgoingMessage};
use crate::sessions::session_registry::{PendingSave, RequestSession, SessionLookup};
use crate::sessions::session_storage::SessionStorage;
use crate::state::ServiceState;
use crate::streams::{AwaitedAnswer, ResponseStart, SessionStream};
use crate::timers::SilenceTimeout;

/// Serves a body that does not claim a modern version, in the session that the request names.
pub(crate) async fn serve<'s>(
    state: &'s ServiceState,
    head: RequestHead<'_>,
    incoming: Incoming<'_>,
) -> PendingResponse<'s> {
    if let Err(refusal) = head.headers.check_legacy() {
        let id = match incoming {
            Incoming::Message(message) => message.id.to_request_id(),
            Incoming::Batch(_) => None,
        };
        return refusal.with_id(id).into();
    }
    let found = state.sessions.find(head).await;
    head.origin.run_as_current(|| match &incoming {
        Incoming::Message(message) => serve_message(state, head, found, message),
        Incoming::Batch(elements) => serve_batch(state, head, found, elements),
    })
}

fn serve_message<'s>(
    state: &'s ServiceState,
    head: RequestHead<'_>,
    found: SessionLookup<'_>,
    message: &Message<'_>,
) -> PendingResponse<'s> {
    let id = message.id.to_request_id();
    let with_id = |refusal: HttpRefusal| refusal.with_id(id.clone()).into();
    let version = match declared_version(head.headers) {
        Ok(version) => version,
        Err(refusal) => return with_id(refusal),
    };
    let Some(method) = message.method.as_deref() else {
        return accept(
            state,
            handle_client_response(state, head.caller, found, message),
        );
    };
    let Some(id) = id.clone() else {
        if is_modern(version) {
            return accept(state, Ok(PendingWork::default()));
        }
        return accept(
            state,
            serve_notification(state, head.caller, found, message),
        );
    };
    let missing_claim = || HttpRefusal::new(StatusCode::BAD_REQUEST, errors::missing_claim());
    if is_modern(version) {
        // This header alone does not make a request modern, but a request with the header is not served as a legacy
        // request either.
        return with_id(missing_claim());
    }
    let method = Method::named(method);
    let is_handshake = method == Some(Method::Initialize);
    let is_only_modern = method.is_some_and(|method| !method.is_in(Era::Legacy));
    let accepts = head.headers.accepts;
    if !accepts.json && !accepts.events {
        return with_id(HttpRefusal::answer_not_accepted());
    }
    let found = match found {
        Ok(found) => found,
        Err(refusal) => return with_id(refusal),
    };
    match found {
        None if is_handshake => handle_initialize(state, head, id, message),
        // With a session, or on a server without sessions, this would be a legacy request for an unknown method.
        None if is_only_modern && has_sessions(state) => with_id(missing_claim()),
        Some(_) if is_handshake => {
            let refusal = HttpRefusal::new(StatusCode::BAD_REQUEST, errors::already_initialized());
            with_id(refusal)
        }
        found => {
            let answered = require_live_session(state, head, found.as_ref(), version)
                .map(|session| serve_request(state, found.as_ref(), &session, head, message));
            answered.unwrap_or_else(with_id)
        }
    }
}

/// Accepts a message that is not a request.
fn accept(state: &ServiceState, handled: Result<PendingWork, HttpRefusal>) -> PendingResponse<'_> {
    match handled {
        Ok(work) => {
            let accepted = response::empty_response(StatusCode::ACCEPTED);
            work.then_respond(state, accepted, || None)
        }
        Err(refusal) => refusal.into(),
    }
}

/// Handles the client's response to a request from the server.
fn handle_client_response(
    state: &ServiceState,
    caller: Option<&Principal>,
    found: SessionLookup<'_>,
    message: &Message<'_>,
) -> Result<PendingWork, HttpRefusal> {
    let required = || HttpRefusal::bad_request("a response requires a session");
    let found = found?.ok_or_else(required)?;
    // The call that is waiting for the response runs in the session's live part, here or on another instance.
    let session = state.sessions.find_live(found.id);
    let outgoing = handle_notification(state, session.as_deref(), found.id, caller, message);
    Ok(PendingWork {
        save: None,
        outgoing: outgoing.into_iter().collect(),
    })
}

/// Serves a notification.
fn serve_notification(
    state: &ServiceState,
    caller: Option<&Principal>,
    found: SessionLookup<'_>,
    message: &Message<'_>,
) -> Result<PendingWork, HttpRefusal> {
    let mut work = PendingWork::default();
    match found? {
        None if !has_sessions(state) => {}
        None => return Err(HttpRefusal::session_required()),
        // This notification alone does not create a live part, because every client sends it once and many send no
        // other message for a long time.
        Some(found) if is_initialized_notification(message) => {
            let change = SessionUpdate {
                ready: !found.record.is_ready(),
                ..SessionUpdate::default()
            };
            work.save = (!change.is_empty()).then(|| found.pending_save(change, None));
        }
        Some(found) => {
            let session = state.sessions.find_live(found.id);
            let session = session.as_deref();
            let outgoing = handle_notification(state, session, found.id, caller, message);
            work.outgoing.extend(outgoing);
        }
    }
    Ok(work)
}

fn is_initialized_notification(message: &Message<'_>) -> bool {
    let method = message.method.as_deref();
    method.and_then(ClientNotification::named) == Some(ClientNotification::Initialized)
}

fn has_sessions(state: &ServiceState) -> bool {
    !matches!(state.sessions.storage, SessionStorage::None)
}

// Requests and notifications in a session.
//
// A call survives a broken connection because its session owns it. If a message is sent before the answer, or the call
// is silent for too long, the response becomes an event stream, which a client can resume.

/// Returns the live part of the session that a request belongs to. On a server without sessions, the live part exists
/// only for this request.
fn require_live_session(
    state: &ServiceState,
    head: RequestHead<'_>,
    found: Option<&RequestSession<'_>>,
    version: Option<ProtocolVersion>,
) -> Result<Arc<LiveSession>, HttpRefusal> {
    match (found, &state.sessions.storage) {
        (Some(found), _) => state.sessions.find_or_create_live(found, head.network()),
        (None, SessionStorage::None) => {
            let version = version.unwrap_or(ProtocolVersion::WITHOUT_HEADER);
            state
                .sessions
                .single_request_session(version, head.network())
        }
        (None, _) => Err(HttpRefusal::session_required()),
    }
}

/// Handles a notification or a response. Returns a message for another instance if that instance must handle it.
pub(super) fn handle_notification(
    state: &ServiceState,
    session: Option<&LiveSession>,
    id: &str,
    caller: Option<&Principal>,
    message: &Message<'_>,
) -> Option<OutgoingMessage> {
    let others = state.sessions.others.as_ref();
    if message.method.is_none() {
        if let Some(session) = session {
            session.decide_message(&state.dispatcher, caller, None, message, &mut Vec::new());
        }
        return others?.forward_answer(id, message);
    }
    let cancelled = match session {
        Some(session) => {
            match session.decide_message(&state.dispatcher, caller, None, message, &mut Vec::new())
            {
                Decision::Cancel(request) if !session.cancel(&request) => Some(request),
                _ => None,
            }
        }
        None => cancelled_request(message),
    };
    let cancelled = others.and(cancelled)?;
    Some(OtherInstances::forward_cancellation(id, &cancelled))
}

/// Serves a request in a session.
pub(super) fn serve_request<'s>(
    state: &'s ServiceState,
    found: Option<&RequestSession<'_>>,
    session: &Arc<LiveSession>,
    head: RequestHead<'_>,
    message: &Message<'_>,
) -> PendingResponse<'s> {
    let accepts = head.headers.accepts;
    let stream = OnceCell::new();
    let awaited = (message.id.valid()).map_or(AwaitedAnswer::Batch(1), AwaitedAnswer::One);
    let open = || {
        let stream: &Arc<SessionStream> =
            stream.get_or_init(|| session.open_stream(accepts.events, awaited, state.limits()));
        Arc::clone(stream)
    };
    let method = message.method.as_deref().and_then(Method::named);
    let is_remembered = method.is_some_and(Method::is_remembered_by_session);
    let answer = match try_serve_on_stream(state, session, head, message, &open) {
        Ok(answer) => answer,
        Err(error) => {
            let refusal = state.authentication.refuse_for_scopes(head.caller, *error);
            return refusal.with_id(message.id.to_request_id()).into();
        }
    };
    let is_open = stream.get().is_some();
    match answer {
        Some(answer) if is_open => open().push_answer(&answer.into_text()),
        Some(answer) => {
            let found = found.filter(|_| is_remembered);
            let save = |found: &RequestSession<'_>| {
                found.pending_save_if_changed(session, message.id.to_request_id())
            };
            let work = PendingWork {
                save: found.and_then(save),
                outgoing: Vec::new(),
            };
            let response = whole_response(answer, accepts);
            return work.then_respond(state, response, || message.id.to_request_id());
        }
        None => {}
    }
    if found.is_none() {
        state.sessions.keep_live(session);
    }
    let answers = AwaitedAnswers {
        session: Arc::clone(session),
        stream: open(),
        is_batch: false,
        accepts,
    };
    let respond = async move { answers.wait_for_answers(state).await };
    PendingResponse::from_future(respond, message.id.to_request_id())
}

/// Returns an error response as a message.
pub(super) fn error_message(id: Option<&RequestId>, error: &ErrorObject) -> Vec<u8> {
    let mut message = Vec::new();
    encode::error(&mut message, id, error);
    message
}

/// Serves a request whose answer does not determine an HTTP status. Returns the answer if it is already available;
/// otherwise, any answer is sent on the stream later.
pub(super) fn serve_on_stream(
    state: &ServiceState,
    session: &Arc<LiveSession>,
    head: RequestHead<'_>,
    message: &Message<'_>,
    stream: &dyn Fn() -> Arc<SessionStream>,
) -> Option<ResponseMessage> {
    try_serve_on_stream(state, session, head, message, stream).unwrap_or_else(|error| {
        record_refusal(RefusalKind::Forbidden, None);
        Some(error_message(message.id.valid(), &error).into())
    })
}

/// Like [`serve_on_stream`], but returns an error that names the required scopes if the caller lacks any of them.
fn try_serve_on_stream(
    state: &ServiceState,
    session: &Arc<LiveSession>,
    head: RequestHead<'_>,
    message: &Message<'_>,
    stream: &dyn Fn() -> Arc<SessionStream>,
) -> Result<Option<ResponseMessage>, Box<ErrorObject>> {
    let mut out = Vec::new();
    let (dispatcher, selection) = (&state.dispatcher, head.selection);
    match session.decide_message(dispatcher, head.caller, selection, message, &mut out) {
        Decision::Request(RequestDecision::Call(prepared)) if let Some(id) = message.id.valid() => {
            let prepared = prepared.with_http_request(head.parts, session.public_id());
            let limits = state.limits();
            match session.run_call(prepared, id, limits, &state.handler_watch, stream) {
                Ok(answer) => return Ok(answer),
                Err(error) => encode::error(&mut out, Some(id), &error),
            }
        }
        Decision::Request(RequestDecision::Answered(WrittenResponse {
            error: Some(error),
            ..
        })) if errors::scopes_needed(&error).is_some() => return Err(error),
        Decision::Request(RequestDecision::Answered(written)) => {
            return Ok(Some(ResponseMessage::new(out, written)));
        }
        _ => {}
    }
    Ok(Some(out.into()))
}

/// Reads the protocol version from the request's header.
pub(super) fn declared_version(
    headers: &RequestHeaders<'_>,
) -> Result<Option<ProtocolVersion>, HttpRefusal> {
    match headers.version {
        None => Ok(None),
        Some(Ok(date)) if let Some(version) = ProtocolVersion::from_wire(date) => Ok(Some(version)),
        Some(_) => {
            let error = ErrorObject::invalid_request(
                "`MCP-Protocol-Version` is not a supported protocol version",
            )
            .with_data(json!({ "supported": ProtocolVersion::supported() }));
            Err(HttpRefusal::new(StatusCode::BAD_REQUEST, error))
        }
    }
}

pub(super) fn is_modern(version: Option<ProtocolVersion>) -> bool {
    version.is_some_and(ProtocolVersion::is_modern)
}

/// Work that must be done before a POST request is answered.
#[derive(Default)]
pub(super) struct PendingWork {
    /// A change to the session, which must be saved.
    pub(super) save: Option<PendingSave>,
    /// Messages that must be passed to other instances.
    pub(super) outgoing: Vec<OutgoingMessage>,
}

impl PendingWork {
    /// Returns the response to a request once the work is done, which is at once if there is none. `id` returns the id
    /// of the request.
    fn then_respond(
        self,
        state: &ServiceState,
        response: Response<HttpBody>,
        id: impl FnOnce() -> Option<RequestId>,
    ) -> PendingResponse<'_> {
        if self.save.is_none() && self.outgoing.is_empty() {
            return PendingResponse::Over(response);
        }
        let respond = async move {
            let done = self.complete(state).await;
            done.map_or_else(HttpRefusal::into_response, |()| response)
        };
        PendingResponse::from_future(respond, id())
    }

    /// Does the work.
    pub(super) async fn complete(self, state: &ServiceState) -> Result<(), HttpRefusal> {
        if let Some(save) = self.save {
            state.sessions.save(save).await?;
        }
        state.sessions.forward(&self.outgoing).await
    }
}

/// Answers to a POST request that are sent on a stream.
pub(super) struct AwaitedAnswers {
    pub(super) session: Arc<LiveSession>,
    pub(super) stream: Arc<SessionStream>,
    pub(super) is_batch: bool,
    pub(super) accepts: AcceptedContentTypes,
}

impl AwaitedAnswers {
    /// Returns the response once it is clear whether it is JSON or an event stream. Calls continue to run if the future
    /// is dropped.
    async fn wait_for_answers(self, state: &ServiceState) -> Response<HttpBody> {
        let Self {
            session,
            stream,
            is_batch,
            accepts,
        } = self;
        let mut silence = accepts
            .events
            .then(|| SilenceTimeout::new(state.limits(), &state.shutdown));
        let mut is_due =
            |cx: &mut Context<'_>| silence.as_mut().is_some_and(|it| it.has_elapsed(cx));
        let opening = poll_fn(|cx| match stream.poll_opening(cx) {
            Poll::Pending if is_due(cx) => Poll::Ready(ResponseStart::Events),
            polled => polled,
        });
        match opening.await {
            ResponseStart::Answers(answers) => {
                session.forget_stream(stream.number);
                answers_response(&answers, is_batch, accepts)
            }
            ResponseStart::Events => match stream.new_primed_reader(1) {
                Some(reader) => events_response(state, session, reader),
                None => unanswered_response(accepts),
            },
        }
    }
}

// Creates responses whose answers are all available, as JSON or as events, depending on the content types that the
// client accepts.

/// Returns the response for an available answer.
pub(super) fn whole_response(
    answer: impl Into<ResponseMessage>,
    accepts: AcceptedContentTypes,
) -> Response<HttpBody> {
    let answer = answer.into();
    if accepts.json {
        return response::json_response(StatusCode::OK, answer);
    }
    let mut out = Vec::new();
    response::write_event(&mut out, None, "message", &answer.into_text());
    response::event_stream_response(HttpBody::from_bytes(out))
}

/// Returns the response to a cancelled request, which does not have an answer.
fn unanswered_response(accepts: AcceptedContentTypes) -> Response<HttpBody> {
    if accepts.events {
        response::event_stream_response(HttpBody::empty())
    } else {
        response::empty_response(StatusCode::NO_CONTENT)
    }
}

/// Returns the response to a single request or a batch whose answers are all available.
fn answers_response(
    messages: &[Arc<[u8]>],
    is_batch: bool,
    accepts: AcceptedContentTypes,
) -> Response<HttpBody> {
    match messages {
        [] => unanswered_response(accepts),
        [message] if !is_batch => whole_response(message.to_vec(), accepts),
        messages if accepts.json => {
            let mut out = vec![b'['];
            out.extend_from_slice(&messages.join(&b','));
            out.push(b']');
            response::json_response(StatusCode::OK, out)
        }
        messages => {
            let mut out = Vec::new();
            for message in messages {
                response::write_event(&mut out, None, "message", message);
            }
            response::event_stream_response(HttpBody::from_bytes(out))
        }
    }
}

// --- Batches: arrays of messages, which are supported only in 2025-03-26 sessions.
//
// All elements run concurrently. The answers are sent as a single array, or as an event stream if another message is
// sent before the last answer. Specification: 2025-03-26, basic, "Batching".

/// Serves a batch of messages.
fn serve_batch<'s>(
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
        handle_notification(state, Some(&session), &session.id, head.caller, message)
    };
    if answers == 0 {
        let outgoing = messages().filter_map(handle).collect();
        let save = save(&session);
        let accepted = response::empty_response(StatusCode::ACCEPTED);
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
