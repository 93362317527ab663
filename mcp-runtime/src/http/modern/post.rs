//! POST requests whose message (a request or a notification) specifies its own protocol version.

use std::cell::OnceCell;
use std::sync::Arc;

use hyper::{Response, StatusCode};

use crate::bell::Bell;
use crate::dispatch::{Dispatcher, RequestOrigin, RequestOutcome, Wake};
use crate::http::modern::call::modern_status;
use crate::http::modern::listen::ListenEvents;
use crate::http::modern::{call, mirrored_headers};
use crate::http::request::head::RequestHead;
use crate::http::request::headers::RequestHeaders;
use crate::http::response::answer;
use crate::http::response::answer::{PendingResponse, WholeMessage};
use crate::http::response::body::HttpBody;
use crate::http::response::refusal::HttpRefusal;
use crate::http::state::ServiceState;
use crate::http::timers::{ExpiryTimer, ValidUntil};
use crate::jsonrpc::{ErrorObject, Member, Message, MetaMember, Params, RequestId};
use crate::protocol::negotiation::{KnownClientInfo, ModernMeta, VersionClaim, claim};
use crate::protocol::{Method, errors};

/// Answers a notification. Notifications have no effect here, but malformed notifications are rejected.
pub(in crate::http) fn answer_notification(
    state: &ServiceState,
    headers: &RequestHeaders<'_>,
    params: &Params<'_>,
) -> Response<HttpBody> {
    let has_claim = params.meta(MetaMember::ProtocolVersion).is_some();
    match read_claim(&state.known_client, headers, params) {
        Err(error) if has_claim => HttpRefusal::new(StatusCode::BAD_REQUEST, error).into_response(),
        _ => answer::empty_response(StatusCode::ACCEPTED),
    }
}

/// Decides how to handle a request. If it is a call, starts the call and polls it once.
pub(in crate::http) fn serve_request<'s>(
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
    let checked = mirrored_headers::check_method_header(headers, method)
        .and_then(|()| {
            let name =
                dispatcher.mirrored_name((method, known), params, (&modern, origin.caller()));
            mirrored_headers::check_name_header(headers, name)
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
    match dispatcher.decide_stateless(request, modern, &origin, &wake, &mut out) {
        Ok(RequestOutcome::Call(prepared)) => {
            let prepared = prepared.with_http_request(head.parts, None);
            call::start_call(state, head, (prepared, id))
        }
        Ok(RequestOutcome::Answered(shared)) => PendingResponse::Over(answer::json_response(
            StatusCode::OK,
            WholeMessage { text: out, shared },
        )),
        Ok(RequestOutcome::Listening(listen)) => {
            let permit = match state.stream_permits.acquire(head.caller) {
                Ok(permit) => permit,
                Err(refused) => return HttpRefusal::from(refused).with_id(Some(id)).into(),
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
    mirrored_headers::check_argument_headers(headers.all, entry.handler.headers(), arguments)
}

// The protocol version that a request declares in its body and its header, and the capabilities that it declares in
// its body.

/// Reads the protocol version and capabilities claimed in the body and compares the version with the header. A
/// malformed claim is reported first, then a header mismatch, and finally an unsupported version.
pub(super) fn read_claim<'m>(
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
        VersionClaim::None => Err(errors::missing_claim()),
    }
}
