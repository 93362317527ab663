//! Modern requests, which are self-contained: they have no session, and the server keeps no state once they have been
//! answered.
//!
//! The checks that all requests share are in `request`. The dispatcher implements the methods.
//!
//! Specification: 2026-07-28, basic/transports, "Streamable HTTP".

use std::cell::OnceCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker, ready};

use hyper::header::HeaderMap;
use hyper::{Response, StatusCode};
use mcp_core::budget::LazyCharge;
use mcp_core::context::Caller;
use mcp_core::dispatch::{
    CallProgress, Dispatcher, ListenRequest, MirroredName, PreparedCall, RequestDecision,
    RequestOrigin, RunningCall, Sink,
};
use mcp_core::handler::decode::{HeaderArgument, member};
use mcp_core::sync::{Bell, Wake, lock};
use mcp_protocol::errors::header_mismatch;
use mcp_protocol::jsonrpc::{
    Decimal, ErrorObject, Member, Message, MetaMember, Params, RequestId, unquote,
};
use mcp_protocol::negotiation::{KnownClientInfo, ModernMeta, VersionClaim, claim};
use mcp_protocol::{Method, errors};

use crate::handler_watch::HandlerWatch;
use crate::request::{RequestHead, RequestHeaders, decode_header_value};
use crate::response;
use crate::response::{
    EventSource, HttpBody, HttpRefusal, MAX_POLLED_BYTES, PendingResponse, ResponseMessage,
    StreamStatus, with_retry_after,
};
use crate::state::ServiceState;
use crate::timers::{ExpiryTimer, SilenceTimeout, ValidUntil};

// --- POST requests whose message (a request or a notification) specifies its own protocol version.

/// Serves a message whose body claims a protocol version.
pub(crate) fn serve_message<'s>(
    state: &'s ServiceState,
    head: RequestHead<'_>,
    message: &Message<'_>,
) -> PendingResponse<'s> {
    match (&message.method, message.id.to_request_id()) {
        (Some(method), Some(id)) => serve_request(state, head, id, method, message),
        _ => PendingResponse::Over(answer_notification(state, head.headers, &message.params)),
    }
}

/// Answers a notification. Notifications have no effect here, but malformed notifications are rejected.
fn answer_notification(
    state: &ServiceState,
    headers: &RequestHeaders<'_>,
    params: &Params<'_>,
) -> Response<HttpBody> {
    match read_claim(&state.known_client, headers, params) {
        Err(error) => HttpRefusal::new(StatusCode::BAD_REQUEST, error).into_response(),
        Ok(_) => response::empty_response(StatusCode::ACCEPTED),
    }
}

/// Decides how to handle a request. If it is a call, starts the call and polls it once.
fn serve_request<'s>(
    state: &'s ServiceState,
    head: RequestHead<'_>,
    id: RequestId,
    method: &str,
    message: &Message<'_>,
) -> PendingResponse<'s> {
    let (headers, params) = (head.headers, &message.params);
    let refuse = |error: ErrorObject| {
        HttpRefusal::new(StatusCode::BAD_REQUEST, error).with_id(Some(id.clone()))
    };
    let modern = match read_claim(&state.known_client, headers, params) {
        Ok(modern) => modern,
        Err(error) => return refuse(error).into(),
    };
    let dispatcher = &state.dispatcher;
    let origin = dispatcher.stateless_origin(
        head.caller.cloned(),
        head.network(),
        head.selection.cloned(),
    );
    let known = Method::named(method);
    let checked = check_method_header(headers, method)
        .and_then(|()| {
            let name =
                dispatcher.mirrored_name((method, known), params, (&modern, origin.caller()));
            check_name_header(headers, name)
        })
        .and_then(|()| check_mirrored_arguments(dispatcher, &origin, headers, known, params));
    if let Err(error) = checked {
        return refuse(error).into();
    }
    let accepts = headers.accepts;
    let needs_events = known.is_some_and(Method::opens_stream);
    if !accepts.events && (needs_events || !accepts.json) {
        return HttpRefusal::answer_not_accepted().with_id(Some(id)).into();
    }
    let mut out = Vec::new();
    let bell = OnceCell::new();
    let wake = || {
        let bell = Arc::clone(bell.get_or_init(Arc::<Bell>::default));
        Arc::new(move || bell.wake()) as Wake
    };
    let request = (method, &id, params);
    let mut listens = Vec::new();
    let listening = (&mut listens, &wake as &dyn Fn() -> Wake);
    match dispatcher.decide_stateless(request, modern, &origin, listening, &mut out) {
        Ok(RequestDecision::Call(prepared)) => {
            let prepared = prepared.with_http_request(head.parts, None);
            start_call(state, head, prepared, id)
        }
        Ok(RequestDecision::Answered(_)) if let Some(listen) = listens.pop() => {
            let permit = match state.stream_permits.acquire(head.caller) {
                Ok(permit) => permit,
                Err(refusal) => return refusal.with_id(Some(id)).into(),
            };
            let mut response = state.event_stream(ListenEvents {
                dispatcher: Arc::clone(dispatcher),
                listen,
                caller: origin.into_caller(),
                bell: bell.into_inner().unwrap_or_default(),
                acknowledgement: out,
                until: ValidUntil::of_credentials(head.caller),
                expiry: ExpiryTimer::default(),
            });
            response.body_mut().hold_permit(permit);
            PendingResponse::Over(response)
        }
        Ok(RequestDecision::Answered(written)) => {
            let message = ResponseMessage::new(out, written);
            PendingResponse::Over(response::json_response(StatusCode::OK, message))
        }
        Err(error) if errors::scopes_needed(&error).is_some() => {
            let refusal = state.authentication.refuse_for_scopes(head.caller, error);
            refusal.with_id(Some(id)).into()
        }
        Err(error) => {
            let status = modern_status(Some(error.code));
            HttpRefusal::new(status, error).with_id(Some(id)).into()
        }
    }
}

/// If the tool exists, compares the headers that mirror its arguments with the arguments themselves.
fn check_mirrored_arguments(
    dispatcher: &Dispatcher,
    origin: &RequestOrigin,
    headers: &RequestHeaders<'_>,
    method: Option<Method>,
    params: &Params<'_>,
) -> Result<(), ErrorObject> {
    if !method.is_some_and(Method::mirrors_arguments) || !dispatcher.mirrors_arguments() {
        return Ok(());
    }
    let Ok(Some(name)) = params.string(Member::Name) else {
        return Ok(());
    };
    let Some(entry) = dispatcher.usable_tool(&name, origin) else {
        return Ok(());
    };
    let arguments = params.get(Member::Arguments).unwrap_or("{}");
    if !arguments.starts_with('{') {
        return Ok(());
    }
    check_argument_headers(headers.all, entry.handler.headers(), arguments)
}

// The protocol version that a request declares in its body and its header, and the capabilities that it declares in
// its body.

/// Reads the protocol version and capabilities claimed in the body and compares the version with the header. A
/// malformed claim is reported first, then a header mismatch, and finally an unsupported version.
fn read_claim<'m>(
    known: &KnownClientInfo,
    headers: &RequestHeaders<'_>,
    params: &Params<'m>,
) -> Result<ModernMeta<'m>, ErrorObject> {
    let claim = claim(params, known);
    if let VersionClaim::Malformed(error) = claim {
        return Err(error);
    }
    headers.check_modern()?;
    let claimed = params
        .meta_string(MetaMember::ProtocolVersion)
        .ok()
        .flatten();
    match headers.version {
        None => {
            return Err(errors::header_mismatch(
                "MCP-Protocol-Version",
                "is missing",
            ));
        }
        Some(Ok(sent)) if claimed.is_some_and(|claimed| claimed == sent) => {}
        Some(_) => {
            let problem = "does not match the protocol version in the body";
            return Err(errors::header_mismatch("MCP-Protocol-Version", problem));
        }
    }
    match claim {
        VersionClaim::Valid(modern) => Ok(modern),
        VersionClaim::Unsupported(error) | VersionClaim::Malformed(error) => Err(error),
        VersionClaim::Absent => Err(errors::missing_claim()),
    }
}

// --- A call that is polled by the task serving the connection.
//
// The response does not start until the call finishes, sends its first notification, or has been silent for too long,
// so that the status can match the answer. Once the call has sent a notification or has been silent for too long, the
// response becomes an event stream. The response owns the call, so the call is dropped when the client disconnects.

/// Starts a call and polls it once.
fn start_call<'s>(
    state: &'s ServiceState,
    head: RequestHead<'_>,
    prepared: PreparedCall<'_>,
    id: RequestId,
) -> PendingResponse<'s> {
    let accepts = head.headers.accepts;
    let queue = OnceCell::new();
    let open = || {
        let max = state.limits().streams.max_outgoing_bytes;
        let charge = state.unsent.lazy_charge(head.holder());
        Arc::new(EventQueue::new(accepts.events, max, charge))
    };
    let sink = || Arc::clone(queue.get_or_init(open)) as Arc<dyn Sink>;
    let mut message = Vec::with_capacity(256);
    let run = || prepared.run(&sink, &mut message);
    let progress = state.handler_watch.run_watched(run);
    let queue = queue.into_inner();
    match progress {
        CallProgress::Answered(written) => {
            let message = ResponseMessage::new(message, written);
            PendingResponse::Over(answer_response(message, queue.as_deref()))
        }
        CallProgress::Running(running) => {
            let silence = accepts
                .events
                .then(|| SilenceTimeout::new(state.limits(), &state.shutdown));
            let call = OwnedCall {
                running,
                message,
                queue,
                handler_watch: Arc::clone(&state.handler_watch),
            };
            PendingResponse::from_future(run_until_response(state, call, silence), Some(id))
        }
    }
}

/// A running call that is owned by its response.
struct OwnedCall {
    running: RunningCall,
    /// The buffer for the answer.
    message: Vec<u8>,
    /// The messages sent before the answer. `None` if the call cannot send messages because it did not request a sink
    /// when it started.
    queue: Option<Arc<EventQueue>>,
    handler_watch: Arc<HandlerWatch>,
}

impl OwnedCall {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<ResponseMessage> {
        if let Some(queue) = &self.queue {
            queue.set_waker(cx.waker());
        }
        let poll = || self.running.poll_response(cx, &mut self.message);
        let written = ready!(self.handler_watch.run_watched(poll));
        let text = std::mem::take(&mut self.message);
        Poll::Ready(ResponseMessage::new(text, written))
    }
}

/// Runs a call until its response can start, and returns the response. `silence` is `None` if the client does not
/// accept events.
async fn run_until_response(
    state: &ServiceState,
    mut call: OwnedCall,
    mut silence: Option<SilenceTimeout>,
) -> Response<HttpBody> {
    let answer = poll_fn(|cx| {
        if let Poll::Ready(answer) = call.poll(cx) {
            return Poll::Ready(Some(answer));
        }
        let has_messages = call.queue.as_ref().is_some_and(|queue| !queue.is_empty());
        let mut is_due = || {
            silence
                .as_mut()
                .is_some_and(|silence| silence.has_elapsed(cx))
        };
        if has_messages || is_due() {
            Poll::Ready(None)
        } else {
            Poll::Pending
        }
    })
    .await;
    match answer {
        Some(answer) => answer_response(answer, call.queue.as_deref()),
        None => state.event_stream(CallEvents(Some(call))),
    }
}

/// Returns the response for a finished call, including messages that were sent before its answer.
fn answer_response(mut answer: ResponseMessage, queue: Option<&EventQueue>) -> Response<HttpBody> {
    let mut out = Vec::new();
    if let Some(queue) = queue {
        queue.drain_into(&mut out);
    }
    if out.is_empty() {
        let error = answer.take_error();
        let status = modern_status(error.as_ref().map(|error| error.code));
        let response = response::json_response(status, answer);
        return match &error {
            Some(error) => with_retry_after(response, error),
            None => response,
        };
    }
    response::write_event(&mut out, None, "message", &answer.into_text());
    response::event_stream_response(HttpBody::from_bytes(out))
}

/// A call's events: the messages that it sends, followed by its answer. The answer may be an error even though the
/// status is 200.
struct CallEvents(Option<OwnedCall>);

impl EventSource for CallEvents {
    fn poll_events(
        &mut self,
        cx: &mut Context<'_>,
        out: &mut Vec<u8>,
        _is_stopping: bool,
    ) -> StreamStatus {
        let Some(call) = &mut self.0 else {
            return StreamStatus::Ended;
        };
        let polled = call.poll(cx);
        if let Some(queue) = &call.queue {
            queue.drain_into(out);
        }
        let Poll::Ready(answer) = polled else {
            return StreamStatus::Open;
        };
        response::write_event(out, None, "message", &answer.into_text());
        self.0 = None;
        StreamStatus::Ended
    }
}

/// Messages that a call sends before its answer.
pub(super) struct EventQueue {
    /// `true` if the client accepts events; otherwise, nothing is sent before the answer.
    takes_events: bool,
    max_bytes: usize,
    state: Mutex<QueuedMessages>,
}

struct QueuedMessages {
    charge: LazyCharge,
    messages: VecDeque<Box<[u8]>>,
    bytes: usize,
    waker: Option<Waker>,
}

impl EventQueue {
    pub(super) fn new(takes_events: bool, max_bytes: usize, charge: LazyCharge) -> Self {
        Self {
            takes_events,
            max_bytes,
            state: Mutex::new(QueuedMessages {
                charge,
                messages: VecDeque::new(),
                bytes: 0,
                waker: None,
            }),
        }
    }

    fn lock_messages(&self) -> MutexGuard<'_, QueuedMessages> {
        lock(&self.state)
    }

    /// Sets the waker of the task to wake when a message is queued.
    fn set_waker(&self, waker: &Waker) {
        let mut state = self.lock_messages();
        if !state.waker.as_ref().is_some_and(|old| old.will_wake(waker)) {
            state.waker = Some(waker.clone());
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock_messages().messages.is_empty()
    }

    /// Appends the messages as events and removes them from the queue.
    fn drain_into(&self, out: &mut Vec<u8>) {
        let mut state = self.lock_messages();
        state.bytes = 0;
        state.charge.resize(0);
        for message in state.messages.drain(..) {
            response::write_event(out, None, "message", &message);
        }
    }
}

impl Sink for EventQueue {
    fn send(&self, message: &[u8]) -> bool {
        let mut state = self.lock_messages();
        if !self.takes_events || state.bytes >= self.max_bytes {
            return false;
        }
        let bytes = state.bytes.saturating_add(message.len());
        if !state.charge.try_resize(bytes) {
            return false;
        }
        state.bytes = bytes;
        state.messages.push_back(message.into());
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
        true
    }
}

/// Returns the HTTP status for the answer to a modern request, based on the answer's error code.
///
/// Handler errors keep status 200, because a client could interpret any other status as a sign that the server does not
/// support the protocol.
fn modern_status(code: Option<i32>) -> StatusCode {
    match code {
        Some(ErrorObject::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        Some(errors::TOO_MANY) => StatusCode::TOO_MANY_REQUESTS,
        Some(
            errors::HEADER_MISMATCH
            | errors::MISSING_CAPABILITY
            | errors::UNSUPPORTED_VERSION
            | ErrorObject::PARSE_ERROR
            | ErrorObject::INVALID_REQUEST,
        ) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

// --- The response to `subscriptions/listen`: a stream of change notifications.

/// The events sent in response to `subscriptions/listen`: the acknowledgement, then changes, and finally the answer,
/// which is sent when the server stops or the caller's credentials expire.
pub(super) struct ListenEvents {
    pub(super) dispatcher: Arc<Dispatcher>,
    pub(super) listen: ListenRequest,
    pub(super) caller: Caller,
    /// Rings when changes are available.
    pub(super) bell: Arc<Bell>,
    pub(super) acknowledgement: Vec<u8>,
    pub(super) until: ValidUntil,
    pub(super) expiry: ExpiryTimer,
}

impl EventSource for ListenEvents {
    fn poll_events(
        &mut self,
        cx: &mut Context<'_>,
        out: &mut Vec<u8>,
        is_stopping: bool,
    ) -> StreamStatus {
        if !self.acknowledgement.is_empty() {
            let acknowledgement = std::mem::take(&mut self.acknowledgement);
            response::write_event(out, None, "message", &acknowledgement);
        }
        // Register before draining, because only the first change after a drain rings the bell.
        self.bell.register(cx.waker());
        let mut lines = Vec::new();
        self.listen
            .drain(&mut lines, MAX_POLLED_BYTES, &self.caller);
        let is_over = is_stopping || self.expiry.poll(self.until, cx);
        if is_over {
            self.listen.complete(&mut lines, self.dispatcher.identity());
        }
        for message in response::split_messages(&lines) {
            response::write_event(out, None, "message", message);
        }
        if is_over {
            StreamStatus::Ended
        } else {
            StreamStatus::Open
        }
    }
}

// --- Compares the headers that mirror the method, the name, and the tool arguments with the body.
//
// Proxies between the client and the server route and filter requests by these headers, so a request whose body does
// not match its headers is always rejected.
//
// Specification: 2026-07-28, basic/transports, "Standard Request Headers".

/// Compares `Mcp-Method` with the body.
fn check_method_header(headers: &RequestHeaders<'_>, method: &str) -> Result<(), ErrorObject> {
    match headers.method() {
        None => Err(header_mismatch("Mcp-Method", "is missing")),
        Some(Ok(sent)) if sent == method => Ok(()),
        Some(_) => Err(header_mismatch(
            "Mcp-Method",
            "does not match the method in the body",
        )),
    }
}

/// Compares `Mcp-Name` with the body.
fn check_name_header(
    headers: &RequestHeaders<'_>,
    body: MirroredName<'_>,
) -> Result<(), ErrorObject> {
    let body = match (headers.name, body) {
        // A missing body member is reported later.
        (_, MirroredName::Nothing) | (None, MirroredName::Missing | MirroredName::Optional(_)) => {
            return Ok(());
        }
        (None, MirroredName::Name(_)) => return Err(header_mismatch("Mcp-Name", "is missing")),
        (Some(_), MirroredName::Missing) => None,
        (Some(_), MirroredName::Name(body) | MirroredName::Optional(body)) => Some(body),
    };
    match headers.name.map(decode_header_value) {
        Some(Ok(sent)) if body.is_some_and(|body| body == sent) => Ok(()),
        Some(Ok(_)) => Err(header_mismatch(
            "Mcp-Name",
            "does not match the name in the body",
        )),
        _ => Err(header_mismatch("Mcp-Name", "is not valid")),
    }
}

/// Compares the `Mcp-Param-*` headers for a tool with the tool's arguments.
pub(crate) fn check_argument_headers(
    headers: &HeaderMap,
    mirrored: &[HeaderArgument],
    arguments: &str,
) -> Result<(), ErrorObject> {
    if mirrored.is_empty() {
        return Ok(());
    }
    for HeaderArgument { path, header } in mirrored {
        let name = format!("Mcp-Param-{header}");
        // Decoding is strict along the path to a mirrored argument, so the handler receives the same value that is
        // found here.
        let value = path
            .iter()
            .try_fold(arguments, |value, step| member(value, step))
            .filter(|value| *value != "null");
        match (headers.get(&name), value) {
            (None, None) => {}
            (None, Some(_)) => return Err(header_mismatch(&name, "is missing")),
            (Some(_), None) => {
                return Err(header_mismatch(
                    &name,
                    "mirrors an argument that is missing from the body",
                ));
            }
            (Some(sent), Some(value)) => match decode_header_value(sent) {
                Ok(sent) if header_matches_value(&sent, value) => {}
                Ok(_) => {
                    return Err(header_mismatch(
                        &name,
                        "does not match the argument in the body",
                    ));
                }
                Err(_) => return Err(header_mismatch(&name, "is not valid")),
            },
        }
    }
    Ok(())
}

/// Returns `true` if a header has the same value as an argument given as JSON. Numbers are compared by value, digit by
/// digit, so `42` equals `42.0`.
fn header_matches_value(sent: &str, value: &str) -> bool {
    match value.as_bytes().first() {
        Some(b'"') => unquote(value).is_ok_and(|text| text == sent),
        Some(b't' | b'f') => sent == value,
        _ => Decimal::read(value).is_some_and(|number| Decimal::read(sent) == Some(number)),
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderName, HeaderValue};
    use serde_json::json;

    use crate::modern::*;

    #[test]
    fn a_mirrored_header_is_compared_with_its_argument() {
        for (sent, value, same) in [
            ("a", json!("a"), true),
            ("A", json!("a"), false),
            ("true", json!(true), true),
            ("True", json!(true), false),
            ("42", json!(42), true),
            ("42.0", json!(42), true),
            ("42", json!(42.0), true),
            ("4.2e1", json!(42), true),
            ("43", json!(42), false),
            ("6.1e-97", json!(0.0), false),
            (" 42", json!("42"), false),
            ("0x2a", json!(42), false),
            ("", json!(0), false),
            ("9007199254740993", json!(9_007_199_254_740_993_i64), true),
            ("9007199254740993.0", json!(9_007_199_254_740_993_i64), true),
            ("9007199254740992", json!(9_007_199_254_740_993_i64), false),
            ("[]", json!([]), false),
        ] {
            assert_eq!(
                header_matches_value(sent, &value.to_string()),
                same,
                "{sent} {value}"
            );
        }
    }

    #[test]
    fn a_mirrored_argument_needs_its_header_and_the_header_its_argument() {
        let mirrored = [HeaderArgument {
            path: vec!["where".into(), "region".into()],
            header: "Region".into(),
        }];
        let mut headers = HeaderMap::new();
        let check = |headers: &HeaderMap, arguments: &str| {
            check_argument_headers(headers, &mirrored, arguments).map_err(|error| error.code)
        };
        let there = r#"{"where":{"region":"eu"}}"#;
        assert_eq!(check(&headers, "{}"), Ok(()));
        assert_eq!(check(&headers, r#"{"where":{"region":null}}"#), Ok(()));
        assert_eq!(check(&headers, there), Err(-32020));
        headers.insert(
            HeaderName::from_static("mcp-param-region"),
            HeaderValue::from_static("eu"),
        );
        assert_eq!(check(&headers, there), Ok(()));
        assert_eq!(check(&headers, "{}"), Err(-32020));
        assert_eq!(check(&headers, r#"{"where":{"region":"us"}}"#), Err(-32020));
    }
}
