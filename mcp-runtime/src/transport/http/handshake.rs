//! The beginning and end of sessions.

use std::time::Duration;

use hyper::header::HeaderValue;
use hyper::{Response, StatusCode};

use super::answer::{self, HttpRefusal};
use super::body::HttpBody;
use super::head::Head;
use super::headers::{Accepts, SESSION};
use super::keeping::{Keeping, is_id, random_id};
use super::legacy::{PostResponse, Posted, check_version, is_modern, session_required, whole};
use super::record::SessionRecord;
use super::service::ServiceState;
use crate::context::Principal;
use crate::dispatch::Version;
use crate::jsonrpc::{ErrorObject, Message, RequestId};
use crate::protocol::negotiation::InitializeParams;
use crate::protocol::{ProtocolVersion, encode, errors};
use crate::telemetry::Timer;

/// A session that begins once its record is stored.
pub(super) struct UnsavedSession {
    id: RequestId,
    record: SessionRecord,
    response: Response<HttpBody>,
}

/// Answers `initialize`.
pub(super) fn initialize(
    inner: &ServiceState,
    caller: Option<&Principal>,
    id: RequestId,
    message: &Message<'_>,
    accepts: Accepts,
) -> Posted {
    let mut out = Vec::new();
    let timer = Timer::start();
    let begun = shake_hands(inner, caller, &id, message, &mut out);
    let agreed = begun.as_ref().map(|(version, _)| *version);
    inner
        .dispatcher
        .note_handshake(timer, (&id, &message.params), agreed);
    let begun = begun.map_or_else(
        |error| {
            out.clear();
            encode::error(&mut out, Some(&id), &error);
            NewSession::Told(None)
        },
        |(_, begun)| begun,
    );
    let mut response = whole(out, accepts);
    match begun {
        NewSession::Kept(record) => PostResponse::Opening(UnsavedSession {
            id,
            record,
            response,
        })
        .into(),
        NewSession::Told(session) => {
            if let Some(session) = session {
                response.headers_mut().insert(&SESSION, session);
            }
            response.into()
        }
    }
}

/// The session that a handshake begins.
enum NewSession {
    /// A session that has to be stored.
    Kept(SessionRecord),
    /// A session that the client keeps, by its id; or none.
    Told(Option<HeaderValue>),
}

fn shake_hands(
    inner: &ServiceState,
    caller: Option<&Principal>,
    id: &RequestId,
    message: &Message<'_>,
    out: &mut Vec<u8>,
) -> Result<(ProtocolVersion, NewSession), ErrorObject> {
    if !message.params.is_object() {
        return Err(errors::invalid_member("params", "an object"));
    }
    let keeping = &inner.sessions.keeping;
    let is_lasting = keeping.is_lasting();
    // Without a lasting session there is no stream for change notifications.
    let seen = if is_lasting {
        inner.dispatcher.version()
    } else {
        Version::default()
    };
    let shaken = inner
        .dispatcher
        .shake_hands(id, &message.params, is_lasting, out);
    let (mut params, lists) = shaken?;
    if !is_lasting {
        // The server cannot send requests to this client.
        params.capabilities.roots = None;
        params.capabilities.sampling = None;
        params.capabilities.elicitation = None;
    }
    let record = SessionRecord::new(&params, (&lists, seen), caller);
    let begun = match keeping {
        Keeping::Store(_) => {
            let most = inner.limits().sessions.max_client_bytes;
            if record.client_size() > most {
                return Err(too_large(
                    &params,
                    &format!("a session keeps at most {most} bytes of client data"),
                ));
            }
            NewSession::Kept(record)
        }
        #[cfg(feature = "sealing")]
        Keeping::Sealed(sealed) => {
            let most = inner.limits().sessions.max_sealed_bytes;
            let token = sealed.seal(&record).filter(|token| token.len() <= most);
            let token = token.and_then(|token| HeaderValue::from_maybe_shared(token).ok());
            let limit = format!("the session id, which contains it, has at most {most} characters");
            let token = token.ok_or_else(|| too_large(&params, &limit))?;
            NewSession::Told(Some(token))
        }
        Keeping::None => NewSession::Told(None),
    };
    Ok((params.version, begun))
}

/// Names the member that makes the description of a client too large.
fn too_large(params: &InitializeParams, limit: &str) -> ErrorObject {
    let size = |json: serde_json::Result<Vec<u8>>| json.map_or(0, |json| json.len());
    let info = size(serde_json::to_vec(&params.client_info));
    let capabilities = size(serde_json::to_vec(&params.capabilities));
    let (name, size) = if info >= capabilities {
        ("clientInfo", info)
    } else {
        ("capabilities", capabilities)
    };
    ErrorObject::invalid_params(format!("`{name}` is too large ({size} bytes): {limit}"))
}

impl UnsavedSession {
    /// Stores the session, and answers with its id.
    pub(super) async fn finish(self, inner: &ServiceState) -> Response<HttpBody> {
        let Keeping::Store(store) = &inner.sessions.keeping else {
            return self.response;
        };
        let name = random_id();
        let inserted = inner.sessions.insert(&**store, &name, self.record).await;
        let refusal = match inserted {
            Ok(true) => {
                let mut response = self.response;
                if let Ok(name) = HeaderValue::from_str(&name) {
                    response.headers_mut().insert(&SESSION, name);
                }
                return response;
            }
            Ok(false) => HttpRefusal::unavailable("there are too many sessions"),
            Err(failed) => failed.into(),
        };
        refusal.with_id(Some(self.id)).into_response()
    }
}

/// Ends a session.
pub(super) async fn delete(inner: &ServiceState, head: Head<'_>) -> Response<HttpBody> {
    let ended = end(inner, head).await;
    ended.unwrap_or_else(HttpRefusal::into_response)
}

async fn end(inner: &ServiceState, head: Head<'_>) -> Result<Response<HttpBody>, HttpRefusal> {
    let Keeping::Store(store) = &inner.sessions.keeping else {
        return Ok(HttpRefusal::method("POST"));
    };
    if is_modern(check_version(head.headers)?) {
        return Ok(HttpRefusal::method("POST"));
    }
    let id = head.headers.session().ok_or_else(session_required)?;
    let id = id.ok().filter(|id| is_id(id));
    let id = id.ok_or_else(HttpRefusal::unknown_session)?;
    let time = inner.limits().sessions.store_timeout;
    let record = store.load(id, Duration::ZERO).within(time).await?;
    if record.is_some_and(|record| !record.is_of(head.caller)) {
        return Err(HttpRefusal::unknown_session());
    }
    let removed = store.remove(id).within(time).await?;
    inner.sessions.end(id);
    if !removed {
        return Err(HttpRefusal::unknown_session());
    }
    if let Some(events) = &inner.sessions.events {
        // The session has ended in any case; the store drops the rest of its events in time.
        let _ = events.forget(id).within(time).await;
    }
    Ok(answer::empty(StatusCode::NO_CONTENT))
}
