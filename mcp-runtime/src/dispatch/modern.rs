//! Methods that exist only in modern protocol versions: discovery and listening for changes.

use std::sync::Arc;

use serde::Deserialize;

use crate::context::Capability;
use crate::dispatch::Dispatcher;
use crate::dispatch::listen::{ListenRequest, ListenScope};
use crate::dispatch::notifications::{check_subscriptions, no_room, subscription_bytes};
use crate::dispatch::origin::RequestOrigin;
use crate::dispatch::request::Request;
use crate::dispatch::request_outcome::RequestOutcome;
use crate::jsonrpc::{ErrorObject, Member};
use crate::observe::SUBSCRIPTIONS;
use crate::order::set_of;
use crate::protocol::encode::{self, ListenFilter};
use crate::protocol::{Method, errors};

/// Answers a self-contained request.
pub(super) fn answer<'m>(
    dispatcher: &Arc<Dispatcher>,
    method: Method,
    request: Request<'m>,
    (origin, listens): (&RequestOrigin, ListenScope<'_>),
    out: &mut Vec<u8>,
) -> Result<RequestOutcome<'m>, ErrorObject> {
    match method {
        Method::Discover => {
            let mut offered = dispatcher.capabilities(&dispatcher.registry.snapshot());
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
            Ok(RequestOutcome::Answered(None))
        }
        Method::SubscriptionsListen => listen(dispatcher, &request, (origin, listens), out),
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
) -> Result<RequestOutcome<'m>, ErrorObject> {
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
    for listen in listens.open {
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
    Ok(RequestOutcome::Listening(ListenRequest {
        id: request.id.clone(),
        version: request.version,
        mailbox,
        _open: SUBSCRIPTIONS.guard(),
    }))
}
