//! Routes a message according to the first rows of the decision table, which determine the message's era.
//!
//! The body determines the era: a claim in `params._meta` makes a request modern and takes precedence over the method
//! name. Source: `docs/requirements.md`, section 3.2.

use std::sync::Arc;

use crate::dispatch::channel::ChannelMemory;
use crate::dispatch::finish::WrittenResponse;
use crate::dispatch::listen::ListenScope;
use crate::dispatch::notifications::Wake;
use crate::dispatch::origin::RequestOrigin;
use crate::dispatch::prepared::PreparedCall;
use crate::dispatch::request::{Request, RequestSender};
use crate::dispatch::request_outcome::RequestOutcome;
use crate::dispatch::{Dispatcher, legacy, modern};
use crate::jsonrpc::{ErrorObject, Id, Member, Message, MetaMember, Params, RequestId};
use crate::observe::CalledItem;
use crate::observe::RequestAttributes;
use crate::observe::RequestTimer;
use crate::protocol::negotiation::{ModernMeta, VersionClaim, claim};
use crate::protocol::{ClientNotification, Era, Method, ProtocolVersion, errors};

/// The action to take for a message.
#[allow(clippy::large_enum_variant, reason = "as for `RequestOutcome`")]
pub(crate) enum Decision<'m> {
    /// No action is needed.
    Silent,
    /// Send this response, which has been written without user code.
    Answered(WrittenResponse),
    /// Run user code.
    Call(PreparedCall<'m>),
    /// Cancel the request with this id.
    Cancel(RequestId),
}

impl Dispatcher {
    /// Decides how to handle a message. Appends at most one message to `out` and never runs user code.
    pub(crate) fn decide<'m>(
        self: &Arc<Self>,
        message: &'m Message<'m>,
        channel: &mut ChannelMemory,
        out: &mut Vec<u8>,
    ) -> Decision<'m> {
        let Some(method) = &message.method else {
            if let (Some(legacy), Id::Valid(id)) = (&channel.legacy, &message.id) {
                let pending = &legacy.client.pending;
                pending.answer(id, message.result, message.error);
            }
            return Decision::Silent;
        };
        let id = match &message.id {
            Id::Valid(id) => id,
            // The parser does not accept a message with a method and an invalid id.
            Id::Absent | Id::Invalid => return notification(method, &message.params, channel),
        };
        if channel.listens.iter().any(|listen| listen.id == *id) {
            let response = WrittenResponse::of_error(out, Some(id), errors::id_in_use());
            return Decision::Answered(response);
        }
        let timer = RequestTimer::start(&self.settings.observers);
        let answer = self.answer(method, id, &message.params, channel, out);
        let agreed = || channel.version();
        self.record_request(timer, (method, id, &message.params), agreed, &answer);
        let response = match answer {
            Ok(RequestOutcome::Call(prepared)) => return Decision::Call(prepared),
            Ok(RequestOutcome::Answered(shared)) => WrittenResponse {
                error: None,
                shared,
            },
            Ok(RequestOutcome::Listening(listen)) => {
                channel.listens.push(listen);
                WrittenResponse::default()
            }
            Err(error) => WrittenResponse::of_error(out, Some(id), error),
        };
        Decision::Answered(response)
    }

    /// Records a request that is answered without user code.
    fn record_request(
        &self,
        timer: RequestTimer,
        (name, id, params): (&str, &RequestId, &Params<'_>),
        agreed: impl FnOnce() -> Option<ProtocolVersion>,
        answer: &Result<RequestOutcome<'_>, ErrorObject>,
    ) {
        let code = match answer {
            Ok(RequestOutcome::Call(_)) => return,
            Ok(_) => None,
            Err(error) => Some(error.code),
        };
        timer.answered(&self.settings.observers, code, || {
            let claimed = params.meta_string(MetaMember::ProtocolVersion);
            RequestAttributes {
                method: Method::named(name),
                id,
                version: match claimed.ok().flatten() {
                    Some(date) => ProtocolVersion::from_wire(&date),
                    None => agreed(),
                },
                meta: params.get(Member::Meta),
                called: self.called_method(name),
            }
        });
    }

    fn answer_claimed<'m>(
        self: &Arc<Self>,
        (name, id, params): (&str, &RequestId, &'m Params<'m>),
        modern: ModernMeta<'m>,
        (origin, listens): (&RequestOrigin, ListenScope<'_>),
        out: &mut Vec<u8>,
    ) -> Result<RequestOutcome<'m>, ErrorObject> {
        let method = Method::named(name).filter(|method| method.is_in(Era::Modern));
        let request = Request {
            id: id.clone(),
            method,
            params,
            version: modern.version,
            sender: RequestSender::Modern(modern),
            caller: origin.caller.clone(),
            selection: origin.selection.clone(),
        };
        match method {
            Some(method) => modern::answer(self, method, request, (origin, listens), out),
            None => self.answer_extension(name, request, origin),
        }
    }

    fn answer<'m>(
        self: &Arc<Self>,
        name: &str,
        id: &RequestId,
        params: &'m Params<'m>,
        channel: &mut ChannelMemory,
        out: &mut Vec<u8>,
    ) -> Result<RequestOutcome<'m>, ErrorObject> {
        if !params.is_object() {
            return Err(errors::invalid_member("params", "an object"));
        }
        match claim(params, &channel.known) {
            VersionClaim::Malformed(error) | VersionClaim::Unsupported(error) => return Err(error),
            VersionClaim::Valid(modern) => {
                let listens = ListenScope {
                    open: &channel.listens,
                    wake: &|| Arc::clone(&channel.wake),
                };
                let scope = (&channel.origin, listens);
                return self.answer_claimed((name, id, params), modern, scope, out);
            }
            VersionClaim::None => {}
        }
        let method = match Method::named(name) {
            Some(Method::Initialize) => {
                return legacy::initialize(self, id, params, channel, out);
            }
            Some(Method::Ping) => {
                legacy::answer_ping(self, id, channel, out);
                return Ok(RequestOutcome::Answered(None));
            }
            Some(Method::Discover) if !channel.is_legacy => return Err(errors::missing_claim()),
            method => method.filter(|method| method.is_in(Era::Legacy)),
        };
        let Some(legacy) = &channel.legacy else {
            // If the request contains part of a claim, the client probably meant to send a modern request.
            return Err(match params.meta(MetaMember::ClientCapabilities) {
                Some(_) => errors::missing_claim(),
                None => errors::not_initialized(),
            });
        };
        let client = Arc::clone(&legacy.client);
        let request = Request {
            id: id.clone(),
            method,
            params,
            version: client.version,
            sender: RequestSender::Legacy(client),
            caller: channel.origin.caller.clone(),
            selection: channel.origin.selection.clone(),
        };
        match method {
            Some(method) => legacy::answer(self, method, request, channel, out),
            None => self.answer_extension(name, request, &channel.origin),
        }
    }
}

impl Dispatcher {
    /// Decides how to handle a request that has no channel and whose claim has already been read. Errors are returned
    /// rather than written because the caller chooses their status code. `wake` creates the function that is called
    /// when a request that remains open has data to send.
    pub(crate) fn decide_stateless<'m>(
        self: &Arc<Self>,
        message: (&str, &RequestId, &'m Params<'m>),
        modern: ModernMeta<'m>,
        origin: &RequestOrigin,
        wake: &dyn Fn() -> Wake,
        out: &mut Vec<u8>,
    ) -> Result<RequestOutcome<'m>, ErrorObject> {
        let timer = RequestTimer::start(&self.settings.observers);
        let listens = ListenScope { open: &[], wake };
        let answer = self.answer_claimed(message, modern, (origin, listens), out);
        self.record_request(timer, message, || None, &answer);
        answer
    }

    /// Starts the timer of a handshake performed by a transport.
    pub(crate) fn request_timer(&self) -> RequestTimer {
        RequestTimer::start(&self.settings.observers)
    }

    /// Records a handshake performed by a transport, including the protocol version or the error.
    pub(crate) fn note_handshake(
        &self,
        timer: RequestTimer,
        (id, params): (&RequestId, &Params<'_>),
        agreed: Result<ProtocolVersion, &ErrorObject>,
    ) {
        let code = agreed.err().map(|error| error.code);
        timer.answered(&self.settings.observers, code, || RequestAttributes {
            method: Some(Method::Initialize),
            id,
            version: agreed.ok(),
            meta: params.get(Member::Meta),
            called: CalledItem::Other,
        });
    }
}

/// Returns the request that a notification cancels, if it cancels one.
pub(crate) fn cancelled_request(message: &Message<'_>) -> Option<RequestId> {
    let method = ClientNotification::named(message.method.as_deref()?)?;
    let id = || RequestId::parse(message.params.get(Member::RequestId)?);
    (method == ClientNotification::Cancelled).then(id)?
}

fn notification<'m>(
    method: &str,
    params: &Params<'m>,
    channel: &mut ChannelMemory,
) -> Decision<'m> {
    let id = || params.get(Member::RequestId).and_then(RequestId::parse);
    match ClientNotification::named(method) {
        Some(ClientNotification::Cancelled) => id().map_or(Decision::Silent, Decision::Cancel),
        // A notification with a claim is modern and must not change legacy state.
        Some(ClientNotification::Initialized)
            if params.meta(MetaMember::ProtocolVersion).is_none() =>
        {
            if let Some(legacy) = &mut channel.legacy {
                legacy.ready = true;
                legacy.client.pending.set_ready();
                (channel.wake)();
            }
            Decision::Silent
        }
        _ => Decision::Silent,
    }
}
