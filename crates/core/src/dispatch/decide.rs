//! From a message to a decision, in both eras, and the methods that only one era has.
//!
//! The body determines the era: a claim in `params._meta` makes a request modern and takes precedence over the method
//! name. Source: `docs/requirements.md`, section 3.2.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde::Deserialize;

use crate::context::Capability;
use crate::dispatch::Dispatcher;
use crate::dispatch::channel::{ChannelMemory, ListenRequest, ListenScope};
use crate::dispatch::finish::WrittenResponse;
use crate::dispatch::notifications::{check_subscriptions, no_room, subscription_bytes};
use crate::dispatch::prepared::PreparedCall;
use crate::dispatch::request::{Request, RequestOrigin, RequestSender};
use crate::jsonrpc;
use crate::jsonrpc::{
    ErrorObject, Id, Incoming, Member, Message, MetaMember, Params, ParseLimits, RequestId,
};
use crate::observe::{CalledItem, RequestAttributes, RequestTimer, SUBSCRIPTIONS};
use crate::order::set_of;
use crate::protocol::encode::{ListenFilter, ResponseContext};
use crate::protocol::negotiation::{InitializeParams, ModernMeta, VersionClaim, claim};
use crate::protocol::{ClientNotification, Era, Method, ProtocolVersion, encode, errors};
use crate::sync::Wake;
use crate::types::{ListChangedCapability, LoggingLevel, ResourcesCapability, ServerCapabilities};

/// The action to take for a message.
pub enum Decision<'m> {
    /// No action is needed.
    Silent,
    /// Cancel the request with this id.
    Cancel(RequestId),
    /// The message is a request.
    Request(RequestDecision<'m>),
}

/// The action to take for a request.
#[allow(
    clippy::large_enum_variant,
    reason = "lives on the stack of the code that reads a message; boxing would cost an allocation per call"
)]
pub enum RequestDecision<'m> {
    /// Send this response, which has been written without user code. A request to listen is answered when it ends; this is its
    /// first message.
    Answered(WrittenResponse),
    /// Run user code.
    Call(PreparedCall<'m>),
}

impl RequestDecision<'_> {
    /// The whole response has been written.
    pub(super) const WRITTEN: Self = Self::Answered(WrittenResponse {
        error: None,
        shared: None,
    });
}

impl Dispatcher {
    /// Decides how to handle a message. Appends at most one message to `out` and never runs user code.
    pub fn decide<'m>(
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
            return Decision::Request(RequestDecision::Answered(response));
        }
        let timer = RequestTimer::start(&self.settings.observers);
        let answer = self.answer(method, id, &message.params, channel, out);
        let agreed = || channel.version();
        self.record_request(timer, (method, id, &message.params), agreed, &answer);
        Decision::Request(answer.unwrap_or_else(|error| {
            RequestDecision::Answered(WrittenResponse::of_error(out, Some(id), error))
        }))
    }

    /// Records a request that is answered without user code.
    fn record_request(
        &self,
        timer: RequestTimer,
        (name, id, params): (&str, &RequestId, &Params<'_>),
        agreed: impl FnOnce() -> Option<ProtocolVersion>,
        answer: &Result<RequestDecision<'_>, ErrorObject>,
    ) {
        let code = match answer {
            Ok(RequestDecision::Call(_)) => return,
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
        (origin, listens): (&RequestOrigin, Option<ListenScope<'_>>),
        out: &mut Vec<u8>,
    ) -> Result<RequestDecision<'m>, ErrorObject> {
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
            Some(method) => answer_modern(self, method, request, (origin, listens), out),
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
    ) -> Result<RequestDecision<'m>, ErrorObject> {
        if !params.is_object() {
            return Err(errors::invalid_member("params", "an object"));
        }
        match claim(params, &channel.known) {
            VersionClaim::Malformed(error) | VersionClaim::Unsupported(error) => return Err(error),
            VersionClaim::Valid(modern) => {
                let listens = ListenScope {
                    open: &mut channel.listens,
                    wake: &|| Arc::clone(&channel.wake),
                };
                let scope = (&channel.origin, Some(listens));
                return self.answer_claimed((name, id, params), modern, scope, out);
            }
            VersionClaim::Absent => {}
        }
        let method = match Method::named(name) {
            Some(Method::Initialize) => {
                return initialize(self, id, params, channel, out);
            }
            Some(Method::Ping) => {
                answer_ping(self, id, channel, out);
                return Ok(RequestDecision::WRITTEN);
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
            Some(method) => answer_legacy(self, method, request, channel, out),
            None => self.answer_extension(name, request, &channel.origin),
        }
    }
}

impl Dispatcher {
    /// Decides how to handle a request that has no channel and whose claim has already been read. Errors are returned
    /// rather than written because the caller chooses their status code. A request that remains open is added to `open`;
    /// `wake` creates the function that is called when it has data to send.
    pub fn decide_stateless<'m>(
        self: &Arc<Self>,
        message: (&str, &RequestId, &'m Params<'m>),
        modern: ModernMeta<'m>,
        origin: &RequestOrigin,
        (open, wake): (&mut Vec<ListenRequest>, &dyn Fn() -> Wake),
        out: &mut Vec<u8>,
    ) -> Result<RequestDecision<'m>, ErrorObject> {
        let timer = RequestTimer::start(&self.settings.observers);
        let listens = ListenScope { open, wake };
        let answer = self.answer_claimed(message, modern, (origin, Some(listens)), out);
        self.record_request(timer, message, || None, &answer);
        answer
    }

    /// Like [`decide_stateless`](Self::decide_stateless), for a request after whose response nothing more can be sent.
    pub(super) fn decide_alone<'m>(
        self: &Arc<Self>,
        message: (&str, &RequestId, &'m Params<'m>),
        modern: ModernMeta<'m>,
        origin: &RequestOrigin,
        out: &mut Vec<u8>,
    ) -> Result<RequestDecision<'m>, ErrorObject> {
        let timer = RequestTimer::start(&self.settings.observers);
        let answer = self.answer_claimed(message, modern, (origin, None), out);
        self.record_request(timer, message, || None, &answer);
        answer
    }

    /// Starts the timer of a handshake performed by a transport.
    pub fn request_timer(&self) -> RequestTimer {
        RequestTimer::start(&self.settings.observers)
    }

    /// Records a handshake performed by a transport, including the protocol version or the error.
    pub fn note_handshake(
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
#[must_use]
pub fn cancelled_request(message: &Message<'_>) -> Option<RequestId> {
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

/// Performs the handshake: negotiates the protocol version and remembers the client's identity.
pub(super) fn initialize<'m>(
    dispatcher: &Arc<Dispatcher>,
    id: &RequestId,
    params: &Params<'_>,
    channel: &mut ChannelMemory,
    out: &mut Vec<u8>,
) -> Result<RequestDecision<'m>, ErrorObject> {
    if channel.legacy.is_some() {
        return Err(errors::already_initialized());
    }
    let (params, offered) = dispatcher.shake_hands(id, params, (&channel.origin, true), out)?;
    channel.store_handshake(params, offered);
    Ok(RequestDecision::WRITTEN)
}

impl Dispatcher {
    /// Answers a handshake. Returns the client's parameters and the lists for which it may receive change
    /// notifications.
    ///
    /// Features that require a session with memory (the log level, subscriptions, change notifications) are offered
    /// only if the session is `lasting`.
    pub fn shake_hands(
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
fn answer_ping(
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
fn answer_legacy<'m>(
    dispatcher: &Arc<Dispatcher>,
    method: Method,
    request: Request<'m>,
    channel: &mut ChannelMemory,
    out: &mut Vec<u8>,
) -> Result<RequestDecision<'m>, ErrorObject> {
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
    Ok(RequestDecision::WRITTEN)
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

/// Answers a self-contained request. Without `listens`, nothing can be sent after the response.
fn answer_modern<'m>(
    dispatcher: &Arc<Dispatcher>,
    method: Method,
    request: Request<'m>,
    (origin, listens): (&RequestOrigin, Option<ListenScope<'_>>),
    out: &mut Vec<u8>,
) -> Result<RequestDecision<'m>, ErrorObject> {
    match method {
        Method::Discover => {
            let mut offered = dispatcher.capabilities(&dispatcher.registry.snapshot());
            if listens.is_none() {
                offered = without_memory(offered);
            }
            offered.extensions = dispatcher.settings.extensions.declared(request.version);
            let instructions = dispatcher.instructions(origin);
            let cache = dispatcher.discover_cache();
            encode::discover(
                out,
                dispatcher.response_context(&request),
                &offered,
                instructions.as_deref(),
                cache,
            );
            Ok(RequestDecision::WRITTEN)
        }
        Method::SubscriptionsListen => match listens {
            Some(listens) => listen(dispatcher, &request, (origin, listens), out),
            None => Err(errors::method_not_found(method.as_str())),
        },
        _ => dispatcher.answer_common(method, request, origin, out),
    }
}

/// `params.notifications` as sent by the client. `null` is treated as absent.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct RequestedNotifications {
    tools_list_changed: Option<bool>,
    prompts_list_changed: Option<bool>,
    resources_list_changed: Option<bool>,
    resource_subscriptions: Option<Vec<String>>,
}

/// Opens a subscription. The acknowledgement is always the first message, because the mailbox is drained only after it
/// has been written.
fn listen<'m>(
    dispatcher: &Arc<Dispatcher>,
    request: &Request<'m>,
    (origin, listens): (&RequestOrigin, ListenScope<'_>),
    out: &mut Vec<u8>,
) -> Result<RequestDecision<'m>, ErrorObject> {
    let snapshot = dispatcher.registry.snapshot();
    let offered = dispatcher.capabilities(&snapshot);
    let extensions = &dispatcher.settings.extensions;
    if offered.tools.is_none()
        && offered.prompts.is_none()
        && offered.resources.is_none()
        && !extensions.has_filter_members()
    {
        return Err(errors::method_not_found(
            Method::SubscriptionsListen.as_str(),
        ));
    }
    let limits = dispatcher.limits();
    let wanted = request
        .params
        .get(Member::Notifications)
        .filter(|text| text.starts_with('{'));
    let wanted =
        wanted.ok_or_else(|| ErrorObject::invalid_params("`notifications` must be an object"))?;
    let mut of_extensions = dispatcher.extension_filter(wanted, request)?;
    let wanted: RequestedNotifications = serde_json::from_str(wanted)
        .map_err(|error| errors::unparsable_member("notifications", &error))?;
    let uris = wanted.resource_subscriptions.iter().flatten();
    let mut uris = set_of(uris.map(String::as_str));
    let keys = of_extensions.iter().flat_map(|filter| &filter.keys);
    let mut names = uris.iter().copied().chain(keys.flatten().map(|key| &**key));
    let bytes: usize = names.clone().map(subscription_bytes).sum();
    let (mut all, mut all_bytes) = (names.clone().count(), bytes);
    for listen in &*listens.open {
        let (open, open_bytes) = listen.mailbox.subscription_size();
        all = all.saturating_add(open);
        all_bytes = all_bytes.saturating_add(open_bytes);
    }
    if names.any(|name| name.len() > limits.message.max_uri_bytes) {
        return Err(ErrorObject::invalid_params(format!(
            "a URI or key is longer than {} bytes",
            limits.message.max_uri_bytes
        )));
    }
    check_subscriptions("a connection", (all, all_bytes), &limits.streams)?;
    if listens.open.len() >= limits.streams.max_listens {
        let most = limits.streams.max_listens;
        return Err(ErrorObject::invalid_params(format!(
            "at most {most} `subscriptions/listen` requests can be open at once"
        )));
    }
    // If the visibility of resources depends on the caller, a caller can subscribe only to resources that it may read.
    let view = request.view(&snapshot);
    if view.is_filtered(Capability::Resources) {
        uris.retain(|uri| view.resource_at(uri, request.version).is_ok());
    }
    extensions.hide_keys(&mut of_extensions, &request.caller);
    let filter = ListenFilter {
        tools: wanted.tools_list_changed == Some(true) && offered.tools.is_some(),
        prompts: wanted.prompts_list_changed == Some(true) && offered.prompts.is_some(),
        resources: wanted.resources_list_changed == Some(true) && offered.resources.is_some(),
        uris: match offered.resources {
            Some(_) => uris.iter().map(|uri| (*uri).into()).collect(),
            None => Vec::new(),
        },
        extensions: of_extensions,
    };
    let mut charge = dispatcher.charge_subscriptions(origin.holder());
    if !charge.try_resize(bytes) {
        return Err(no_room());
    }
    encode::acknowledged(out, &filter, &request.id);
    let notifications = dispatcher.notifications();
    let listener = (request.caller.clone(), charge);
    let of_extensions = filter.extensions.clone();
    let mailbox = notifications.listen(filter, (listens.wake)(), listener);
    extensions.report_listener(&of_extensions, (&dispatcher.handle(), &request.caller));
    listens.open.push(ListenRequest {
        id: request.id.clone(),
        version: request.version,
        mailbox,
        _open: SUBSCRIPTIONS.guard(),
    });
    Ok(RequestDecision::WRITTEN)
}

/// An element of a batch, or the error to send in its place, together with the message's id if it could be read.
pub(crate) type BatchElement<'m> = Result<Message<'m>, (Option<RequestId>, ErrorObject)>;

/// Reads a batch's elements. `version` is the negotiated protocol version, if any.
///
/// # Errors
///
/// Fails if the batch as a whole is refused. An element that is not a message does not affect the other elements.
pub fn read_batch<'m>(
    elements: &[&'m str],
    version: Option<ProtocolVersion>,
    limits: &ParseLimits,
) -> Result<Vec<BatchElement<'m>>, ErrorObject> {
    if !version.is_some_and(ProtocolVersion::has_batches) {
        return Err(errors::batch_not_supported());
    }
    let read = |text: &&'m str| match jsonrpc::parse(text.as_bytes(), limits)? {
        Incoming::Message(message) => Ok(message),
        Incoming::Batch(_) => {
            let error = ErrorObject::invalid_request("a batch must not contain another batch");
            Err((None, error))
        }
    };
    let elements: Vec<BatchElement<'_>> = elements.iter().map(read).collect();
    let has_claim =
        |message: &Message<'_>| message.params.meta(MetaMember::ProtocolVersion).is_some();
    if elements
        .iter()
        .any(|element| element.as_ref().is_ok_and(has_claim))
    {
        let text = "a message that names its own protocol version must not be part of a batch";
        return Err(ErrorObject::invalid_request(text));
    }
    Ok(elements)
}
