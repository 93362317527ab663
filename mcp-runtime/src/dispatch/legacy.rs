//! What only the legacy era has: the handshake, ping, subscriptions of a session, the log level of a session.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::dispatch::Dispatcher;
use crate::dispatch::decide::Answer;
use crate::dispatch::request::Request;
use crate::dispatch::session::Session;
use crate::jsonrpc::{ErrorObject, Member, Params, RequestId};
use crate::protocol::encode::{self, Reply};
use crate::protocol::{InitializeParams, Method, ProtocolVersion, errors};
use crate::types::LoggingLevel;

/// The handshake: agrees on a revision and remembers who the client is.
pub(super) fn initialize<'m>(
    dispatcher: &Arc<Dispatcher>,
    id: &RequestId,
    params: &Params<'_>,
    session: &mut Session,
    out: &mut Vec<u8>,
) -> Result<Answer<'m>, ErrorObject> {
    if session.legacy.is_some() {
        return Err(errors::already_initialized());
    }
    let params = InitializeParams::read(params)?;
    let version = params.version;
    let offered = dispatcher.capabilities(&dispatcher.registry.snapshot());
    session.begin(params, &offered);
    let reply = Reply {
        id,
        version,
        identity: dispatcher.identity(),
    };
    encode::initialize(
        out,
        reply,
        &offered,
        dispatcher.settings.instructions.as_deref(),
    );
    Ok(Answer::Written)
}

/// Answers a ping, at any time.
pub(super) fn pong(dispatcher: &Dispatcher, id: &RequestId, session: &Session, out: &mut Vec<u8>) {
    let agreed = session.legacy.as_ref().map(|legacy| legacy.client.version);
    let version = agreed.unwrap_or(ProtocolVersion::LATEST_LEGACY);
    encode::empty(
        out,
        Reply {
            id,
            version,
            identity: dispatcher.identity(),
        },
    );
}

/// Answers a request of a client that shook hands.
pub(super) fn answer<'m>(
    dispatcher: &Arc<Dispatcher>,
    request: Request<'m>,
    session: &mut Session,
    out: &mut Vec<u8>,
) -> Result<Answer<'m>, ErrorObject> {
    let change = match request.method {
        Method::ResourcesSubscribe | Method::ResourcesUnsubscribe => follow,
        Method::LoggingSetLevel => set_level,
        _ => return dispatcher.answer_common(request, session, out),
    };
    if !dispatcher.offers(request.method, &dispatcher.registry.snapshot()) {
        return Err(errors::method_not_found(request.method.as_str()));
    }
    change(dispatcher, &request, session)?;
    encode::empty(out, dispatcher.reply(&request));
    Ok(Answer::Written)
}

fn follow(
    dispatcher: &Dispatcher,
    request: &Request<'_>,
    session: &Session,
) -> Result<(), ErrorObject> {
    let limits = dispatcher.limits();
    let uri = request.string(Member::Uri, limits.uri)?;
    let Some(legacy) = &session.legacy else {
        return Err(errors::not_initialized());
    };
    if request.method == Method::ResourcesUnsubscribe {
        legacy.mailbox.unfollow(&uri);
    } else if !legacy.mailbox.follow(&uri, limits.subscriptions) {
        let most = limits.subscriptions;
        return Err(ErrorObject::invalid_params(format!(
            "a session can follow at most {most} resources"
        )));
    }
    Ok(())
}

fn set_level(
    dispatcher: &Dispatcher,
    request: &Request<'_>,
    session: &Session,
) -> Result<(), ErrorObject> {
    let name = request.string(Member::Level, dispatcher.limits().name)?;
    let level = LoggingLevel::from_wire(&name).ok_or_else(errors::invalid_level)?;
    if let Some(legacy) = &session.legacy {
        legacy.client.level.store(level as u8, Ordering::Relaxed);
    }
    Ok(())
}
