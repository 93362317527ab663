//! Notifications and requests from the server.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::ProtocolVersion;
use crate::encode::{
    write_comma, write_json, write_list, write_name, write_number, write_optional_string,
    write_raw, write_string_member,
};
use crate::jsonrpc::{RequestId, write_string};
use crate::types::LoggingLevel;

/// Writes a progress notification. `token` is the raw JSON received from the client. If the progress is not a finite
/// number, nothing is written.
pub fn progress(
    out: &mut Vec<u8>,
    version: ProtocolVersion,
    token: &str,
    progress: f64,
    total: Option<f64>,
    message: Option<&str>,
) {
    if !progress.is_finite() {
        return;
    }
    write_notification(out, "notifications/progress", |out| {
        write_name(out, "progressToken");
        out.extend_from_slice(token.as_bytes());
        write_name(out, "progress");
        write_number(out, progress);
        if let Some(total) = total.filter(|total| total.is_finite()) {
            write_name(out, "total");
            write_number(out, total);
        }
        if version > ProtocolVersion::V2024_11_05 {
            write_optional_string(out, "message", message);
        }
    });
}

/// Writes a log message. `data` is JSON.
pub fn log(out: &mut Vec<u8>, level: LoggingLevel, logger: Option<&str>, data: &str) {
    write_notification(out, "notifications/message", |out| {
        write_string_member(out, "level", level.as_str());
        write_optional_string(out, "logger", logger);
        write_name(out, "data");
        write_raw(out, data);
    });
}

/// The list to which a `…/list_changed` notification refers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ListKind {
    /// `notifications/tools/list_changed`
    Tools,
    /// `notifications/prompts/list_changed`
    Prompts,
    /// `notifications/resources/list_changed`
    Resources,
}

/// Writes a notification that a list has changed. `subscription` is the listen request to which the notification
/// belongs, or `None` in a legacy session.
pub fn list_changed(out: &mut Vec<u8>, list: ListKind, subscription: Option<&RequestId>) {
    let method = match list {
        ListKind::Tools => "notifications/tools/list_changed",
        ListKind::Prompts => "notifications/prompts/list_changed",
        ListKind::Resources => "notifications/resources/list_changed",
    };
    write_notification(out, method, |out| {
        if let Some(id) = subscription {
            write_subscription_meta(out, id);
        }
    });
}

/// Writes a notification that a resource has changed. `subscription` has the same meaning as in [`list_changed`].
pub fn resource_updated(out: &mut Vec<u8>, uri: &str, subscription: Option<&RequestId>) {
    write_notification(out, "notifications/resources/updated", |out| {
        write_string_member(out, "uri", uri);
        if let Some(id) = subscription {
            write_subscription_meta(out, id);
        }
    });
}

/// The part of a listen filter that the server supports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListenFilter {
    /// Changes to the list of tools.
    pub tools: bool,
    /// Changes to the list of prompts.
    pub prompts: bool,
    /// Changes to the lists of resources and resource templates.
    pub resources: bool,
    /// Changes to the resources with these URIs, as the client wrote them.
    pub uris: Vec<Box<str>>,
    /// The members that extensions have added to the filter.
    pub extensions: Vec<ExtensionFilter>,
}

/// A member of a listen filter that an extension defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtensionFilter {
    /// The name of the member.
    pub member: Arc<str>,
    /// The keys for which the client receives notifications, or `None` if the member is a flag.
    pub keys: Option<Vec<Box<str>>>,
}

impl ExtensionFilter {
    /// Returns the number of keys.
    #[must_use]
    pub fn key_count(&self) -> usize {
        self.keys.as_ref().map_or(0, Vec::len)
    }
}

/// Writes the acknowledgment, which is the first message in a subscription and contains the supported part of the
/// listen filter.
pub fn acknowledged(out: &mut Vec<u8>, filter: &ListenFilter, subscription: &RequestId) {
    write_notification(out, "notifications/subscriptions/acknowledged", |out| {
        write_name(out, "notifications");
        out.push(b'{');
        for (honoured, key) in [
            (filter.tools, "toolsListChanged"),
            (filter.prompts, "promptsListChanged"),
            (filter.resources, "resourcesListChanged"),
        ] {
            if honoured {
                write_name(out, key);
                out.extend_from_slice(b"true");
            }
        }
        if !filter.uris.is_empty() {
            write_list(out, "resourceSubscriptions", &filter.uris, |out, uri| {
                write_string(out, uri);
            });
        }
        for filter in &filter.extensions {
            write_comma(out);
            write_string(out, &filter.member);
            out.push(b':');
            write_json(
                out,
                &filter
                    .keys
                    .as_ref()
                    .map_or(Value::Bool(true), |keys| json!(keys)),
            );
        }
        out.push(b'}');
        write_subscription_meta(out, subscription);
    });
}

/// Writes a notification defined by an extension. `subscription` is the listen request to which it belongs, or `None`
/// if the notification belongs to a call or a legacy session.
///
/// If the `_meta` of `params` contains a subscription id, that id is omitted.
pub fn extension_notification(
    out: &mut Vec<u8>,
    method: &str,
    params: &Map<String, Value>,
    subscription: Option<&RequestId>,
) {
    write_notification(out, method, |out| {
        let meta = params.get("_meta").and_then(Value::as_object);
        for (key, value) in params.iter().filter(|(key, _)| *key != "_meta") {
            write_comma(out);
            write_string(out, key);
            out.push(b':');
            write_json(out, value);
        }
        let mut own = meta.into_iter().flatten().peekable();
        if subscription.is_none() && own.peek().is_none() {
            return;
        }
        write_comma(out);
        out.extend_from_slice(b"\"_meta\":{");
        if let Some(id) = subscription {
            write_subscription_id(out, id);
        }
        for (key, value) in own.filter(|(key, _)| *key != SUBSCRIPTION_ID) {
            write_comma(out);
            write_string(out, key);
            out.push(b':');
            write_json(out, value);
        }
        out.push(b'}');
    });
}

/// Writes a notification that the server has ended the listen request with this id (stdio only) or has cancelled one of
/// its own requests.
pub fn cancelled(out: &mut Vec<u8>, id: &RequestId, reason: &str) {
    write_notification(out, "notifications/cancelled", |out| {
        write_name(out, "requestId");
        out.extend_from_slice(id.as_bytes());
        write_string_member(out, "reason", reason);
    });
}

/// Writes a request from the server to the client. Used only in legacy protocol versions.
pub fn request(out: &mut Vec<u8>, id: &RequestId, method: &str, params: &Value) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.as_bytes());
    write_string_member(out, "method", method);
    if params.as_object().is_none_or(|params| !params.is_empty()) {
        write_name(out, "params");
        write_json(out, params);
    }
    out.push(b'}');
}

fn write_notification(out: &mut Vec<u8>, method: &str, params: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"method\":\"");
    out.extend_from_slice(method.as_bytes());
    out.push(b'"');
    let start = out.len();
    out.extend_from_slice(b",\"params\":{");
    let empty = out.len();
    params(out);
    if out.len() == empty {
        out.truncate(start);
    } else {
        out.push(b'}');
    }
    out.push(b'}');
}

/// The `_meta` key that holds the id of the listen request to which a notification belongs.
const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

pub(super) fn write_subscription_id(out: &mut Vec<u8>, id: &RequestId) {
    write_name(out, SUBSCRIPTION_ID);
    out.extend_from_slice(id.as_bytes());
}

fn write_subscription_meta(out: &mut Vec<u8>, id: &RequestId) {
    write_comma(out);
    out.extend_from_slice(b"\"_meta\":{");
    write_subscription_id(out, id);
    out.push(b'}');
}
