//! Methods that exist only in legacy protocol versions: the handshake, ping, subscriptions, and setting a session's log
//! level.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::context::Capability;
use crate::dispatch::Dispatcher;
use crate::dispatch::channel::ChannelMemory;
use crate::dispatch::origin::RequestOrigin;
use crate::dispatch::request::Request;
use crate::dispatch::request_outcome::RequestOutcome;
use crate::jsonrpc::{ErrorObject, Member, Params, RequestId};
use crate::protocol::encode::{self, ListenFilter, ResponseContext};
use crate::protocol::negotiation::InitializeParams;
use crate::protocol::{Method, ProtocolVersion, errors};
use crate::types::{ListChangedCapability, LoggingLevel, ResourcesCapability, ServerCapabilities};

/// Performs the handshake: negotiates the protocol version and remembers the client's identity.
pub(super) fn initialize<'m>(
    dispatcher: &Arc<Dispatcher>,
    id: &RequestId,
    params: &Params<'_>,
    channel: &mut ChannelMemory,
    out: &mut Vec<u8>,
) -> Result<RequestOutcome<'m>, ErrorObject> {
    if channel.legacy.is_some() {
        return Err(errors::already_initialized());
    }
    let (params, offered) = dispatcher.shake_hands(id, params, (&channel.origin, true), out)?;
    channel.store_handshake(params, offered);
    Ok(RequestOutcome::Answered(None))
}

impl Dispatcher {
    /// Answers a handshake. Returns the client's parameters and the lists for which it may receive change
    /// notifications.
    ///
    /// Features that require a session with memory (the log level, subscriptions, change notifications) are offered
    /// only if the session is `lasting`.
    pub(crate) fn shake_hands(
        &self,
        id: &RequestId,
        params: &Params<'_>,
        (origin, lasting): (&RequestOrigin, bool),
        out: &mut Vec<u8>,
    ) -> Result<(InitializeParams, ListenFilter), ErrorObject> {
        let params = InitializeParams::read(params)?;
        let mut offered = self.capabilities(&self.registry.snapshot());
        if !lasting {
            offered = without_memory(offered);
        }
        let extensions = &self.settings.extensions;
        offered.extensions = extensions.declared(params.version);
        offered.tasks = extensions.core_tasks(params.version, &origin.caller);
        let reply = ResponseContext {
            id: Some(id),
            version: params.version,
            identity: self.identity(),
        };
        let instructions = self.instructions(origin);
        encode::initialize(out, reply, &offered, instructions.as_deref());
        let lists = ListenFilter {
            tools: offered.tools.is_some_and(|list| list.list_changed),
            prompts: offered.prompts.is_some_and(|list| list.list_changed),
            resources: offered.resources.is_some_and(|list| list.list_changed),
            ..ListenFilter::default()
        };
        Ok((params, lists))
    }
}

/// Removes the capabilities that require a session with memory.
fn without_memory(mut offered: ServerCapabilities) -> ServerCapabilities {
    offered.logging = None;
    offered.tools = offered.tools.map(|_| ListChangedCapability::default());
    offered.prompts = offered.prompts.map(|_| ListChangedCapability::default());
    offered.resources = offered.resources.map(|_| ResourcesCapability::default());
    offered
}

/// Answers a ping, which may arrive at any time.
pub(super) fn answer_ping(
    dispatcher: &Dispatcher,
    id: &RequestId,
    channel: &ChannelMemory,
    out: &mut Vec<u8>,
) {
    let version = channel.version().unwrap_or(ProtocolVersion::LATEST_LEGACY);
    encode::empty(
        out,
        ResponseContext {
            id: Some(id),
            version,
            identity: dispatcher.identity(),
        },
    );
}

/// Answers a request from a client that has completed the handshake.
pub(super) fn answer<'m>(
    dispatcher: &Arc<Dispatcher>,
    method: Method,
    request: Request<'m>,
    channel: &mut ChannelMemory,
    out: &mut Vec<u8>,
) -> Result<RequestOutcome<'m>, ErrorObject> {
    let change = match method {
        Method::ResourcesSubscribe | Method::ResourcesUnsubscribe => subscribe_or_unsubscribe,
        Method::LoggingSetLevel => set_level,
        _ => return dispatcher.answer_common(method, request, &channel.origin, out),
    };
    let is_offered = dispatcher.offers(method, &dispatcher.registry.snapshot());
    // These methods change state that must be kept for later messages.
    if !is_offered || !channel.is_lasting {
        return Err(errors::method_not_found(method.as_str()));
    }
    change(dispatcher, &request, channel)?;
    encode::empty(out, dispatcher.response_context(&request));
    Ok(RequestOutcome::Answered(None))
}

fn subscribe_or_unsubscribe(
    dispatcher: &Dispatcher,
    request: &Request<'_>,
    channel: &ChannelMemory,
) -> Result<(), ErrorObject> {
    let limits = dispatcher.limits();
    let uri = request.string(Member::Uri, limits.message.max_uri_bytes)?;
    let Some(legacy) = &channel.legacy else {
        return Err(errors::not_initialized());
    };
    if request.method == Some(Method::ResourcesUnsubscribe) {
        legacy.mailbox.unsubscribe(&uri);
        return Ok(());
    }
    let snapshot = dispatcher.registry.snapshot();
    // If the visibility of resources depends on the caller, a hidden resource must be indistinguishable from a
    // nonexistent one.
    let view = request.view(&snapshot);
    if view.is_filtered(Capability::Resources) {
        view.resource_at(&uri, request.version)?;
    }
    legacy.mailbox.subscribe(&uri, &limits.streams)
}

fn set_level(
    dispatcher: &Dispatcher,
    request: &Request<'_>,
    channel: &ChannelMemory,
) -> Result<(), ErrorObject> {
    let name = request.string(Member::Level, dispatcher.limits().message.max_name_bytes)?;
    let level = LoggingLevel::from_wire(&name).ok_or_else(errors::invalid_level)?;
    if let Some(legacy) = &channel.legacy {
        legacy.client.level.store(level as u8, Ordering::Relaxed);
    }
    Ok(())
}
