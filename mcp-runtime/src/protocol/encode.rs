//! Writes whole messages: responses and notifications, in the shape of a revision.
//!
//! Every function appends one message to `out`, without a line end. Modern results receive `resultType`, the server's
//! identity and, where the method has them, cache hints; legacy results receive none of these.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::jsonrpc::{ErrorObject, RequestId, write_string};
use crate::protocol::shape::Shape as _;
use crate::protocol::{Era, ProtocolVersion, is_reserved};
use crate::types::{
    CacheScope, CallToolResult, Completion, ContentBlock, GetPromptResult, Implementation,
    LoggingLevel, Meta, ReadResourceResult, Role, ServerCapabilities,
};

/// How long and by whom a result may be reused. Modern era only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CacheHint {
    pub(crate) ttl: Duration,
    pub(crate) scope: CacheScope,
}

/// The server as each revision sees it, rendered once.
#[derive(Debug)]
pub(crate) struct Identity {
    implementation: Implementation,
    /// `{"io.modelcontextprotocol/serverInfo":{…}}` without the braces, for the `_meta` of modern results.
    modern: Box<str>,
}

impl Identity {
    pub(crate) fn new(implementation: Implementation) -> Self {
        let mut modern = b"\"io.modelcontextprotocol/serverInfo\":".to_vec();
        json(&mut modern, &implementation);
        Self {
            implementation,
            modern: String::from_utf8_lossy(&modern).into(),
        }
    }

    pub(crate) fn implementation(&self) -> &Implementation {
        &self.implementation
    }
}

/// Who answers whom, in which revision: what every response needs.
#[derive(Clone, Copy)]
pub(crate) struct Reply<'a> {
    pub(crate) id: &'a RequestId,
    pub(crate) version: ProtocolVersion,
    pub(crate) identity: &'a Identity,
}

pub(crate) fn error(out: &mut Vec<u8>, id: Option<&RequestId>, error: &ErrorObject) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\"");
    if let Some(id) = id {
        out.extend_from_slice(b",\"id\":");
        out.extend_from_slice(id.as_bytes());
    }
    out.extend_from_slice(b",\"error\":{\"code\":");
    integer(out, error.code);
    string(out, "message", &error.message);
    if let Some(data) = &error.data {
        name(out, "data");
        json(out, data);
    }
    out.extend_from_slice(b"}}");
}
/// A result without members of its own: `{}` in the legacy era.
pub(crate) fn empty(out: &mut Vec<u8>, reply: Reply<'_>) {
    result(out, reply, None, |_| {});
}
pub(crate) fn initialize(
    out: &mut Vec<u8>,
    reply: Reply<'_>,
    capabilities: &ServerCapabilities,
    instructions: Option<&str>,
) {
    let version = reply.version;
    let (mut capabilities, mut implementation) =
        (capabilities.clone(), reply.identity.implementation.clone());
    capabilities.shape(version);
    implementation.shape(version);
    result(out, reply, None, |out| {
        string(out, "protocolVersion", version.as_str());
        name(out, "capabilities");
        json(out, &capabilities);
        name(out, "serverInfo");
        json(out, &implementation);
        optional(out, "instructions", instructions);
    });
}
pub(crate) fn discover(
    out: &mut Vec<u8>,
    reply: Reply<'_>,
    capabilities: &ServerCapabilities,
    instructions: Option<&str>,
    cache: CacheHint,
) {
    let mut capabilities = capabilities.clone();
    capabilities.shape(reply.version);
    result(out, reply, None, |out| {
        name(out, "supportedVersions");
        json(out, &ProtocolVersion::supported());
        name(out, "capabilities");
        json(out, &capabilities);
        optional(out, "instructions", instructions);
        cache_hint(out, reply.version, cache);
    });
}
/// A list page; `members` is the rendered text of its members, such as `"tools":[…],"nextCursor":"…"`.
pub(crate) fn list(out: &mut Vec<u8>, reply: Reply<'_>, members: &str, cache: CacheHint) {
    let gap = list_around(out, reply, cache);
    gap.fill(out, members.as_bytes());
}

/// A list page without its members, for whoever need not copy them.
pub(crate) fn list_around(out: &mut Vec<u8>, reply: Reply<'_>, cache: CacheHint) -> Gap {
    let mut at = 0;
    result(out, reply, None, |out| {
        comma(out);
        at = out.len();
        cache_hint(out, reply.version, cache);
    });
    Gap(at)
}

/// Where in a message something is left out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gap(usize);

impl Gap {
    /// Puts in what was left out.
    pub(crate) fn fill(self, out: &mut Vec<u8>, missing: &[u8]) {
        let after = self.split(out);
        out.reserve(missing.len().saturating_add(after.len()));
        out.extend_from_slice(missing);
        out.extend_from_slice(&after);
    }

    /// Takes off what comes behind it.
    pub(crate) fn split(self, out: &mut Vec<u8>) -> Vec<u8> {
        out.split_off(self.0.min(out.len()))
    }
}
/// Structured content is said again as text, if the handler did not do so.
pub(crate) fn tool_result(out: &mut Vec<u8>, reply: Reply<'_>, mut tool: CallToolResult) {
    tool.shape(reply.version);
    result(out, reply, tool.meta.as_ref(), |out| {
        list_of(out, "content", &tool.content, block);
        if let Some(structured) = &tool.structured_content {
            name(out, "structuredContent");
            out.extend_from_slice(structured.get().as_bytes());
        }
        if tool.is_error {
            name(out, "isError");
            out.extend_from_slice(b"true");
        }
    });
}
pub(crate) fn prompt_result(out: &mut Vec<u8>, reply: Reply<'_>, mut prompt: GetPromptResult) {
    prompt.shape(reply.version);
    result(out, reply, prompt.meta.as_ref(), |out| {
        optional(out, "description", prompt.description.as_deref());
        list_of(out, "messages", &prompt.messages, |out, message| {
            out.extend_from_slice(match message.role {
                Role::User => b"{\"role\":\"user\",\"content\":",
                Role::Assistant => b"{\"role\":\"assistant\",\"content\":".as_slice(),
            });
            block(out, &message.content);
            out.push(b'}');
        });
    });
}
pub(crate) fn resource_result(
    out: &mut Vec<u8>,
    reply: Reply<'_>,
    mut resource: ReadResourceResult,
    cache: CacheHint,
) {
    resource.shape(reply.version);
    result(out, reply, resource.meta.as_ref(), |out| {
        list_of(out, "contents", &resource.contents, |out, contents| {
            out.push(b'{');
            string(out, "uri", &contents.uri);
            optional(out, "mimeType", contents.mime_type.as_deref());
            optional(out, "text", contents.text.as_deref());
            optional(out, "blob", contents.blob.as_deref());
            if let Some(meta) = &contents.meta {
                name(out, "_meta");
                json(out, meta);
            }
            out.push(b'}');
        });
        cache_hint(out, reply.version, cache);
    });
}
pub(crate) fn completion(out: &mut Vec<u8>, reply: Reply<'_>, completion: &Completion) {
    /// No revision takes more.
    const MOST: usize = 100;
    let values = completion.values.get(..MOST).unwrap_or(&completion.values);
    result(out, reply, None, |out| {
        name(out, "completion");
        out.push(b'{');
        list_of(out, "values", values, |out, value| write_string(out, value));
        if let Some(total) = completion.total {
            name(out, "total");
            integer(out, total);
        }
        if let Some(has_more) = completion.has_more {
            name(out, "hasMore");
            json(out, &has_more);
        }
        out.push(b'}');
    });
}
/// The answer to a listen request that the server ends: `resultType` and the subscription id.
pub(crate) fn listen_result(out: &mut Vec<u8>, reply: Reply<'_>) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(reply.id.as_bytes());
    out.extend_from_slice(b",\"result\":{\"resultType\":\"complete\"");
    result_meta(out, reply, None, true);
    out.extend_from_slice(b"}}");
}

/// `token` is the raw JSON the client sent. Progress that is not a finite number is not written at all.
pub(crate) fn progress(
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
    notification(out, "notifications/progress", |out| {
        name(out, "progressToken");
        out.extend_from_slice(token.as_bytes());
        name(out, "progress");
        number(out, progress);
        if let Some(total) = total.filter(|total| total.is_finite()) {
            name(out, "total");
            number(out, total);
        }
        if version > ProtocolVersion::V2024_11_05 {
            optional(out, "message", message);
        }
    });
}
/// `data` is JSON.
pub(crate) fn log(out: &mut Vec<u8>, level: LoggingLevel, logger: Option<&str>, data: &str) {
    notification(out, "notifications/message", |out| {
        string(out, "level", level.as_str());
        optional(out, "logger", logger);
        name(out, "data");
        out.extend_from_slice(data.as_bytes());
    });
}
/// What a `…/list_changed` notification is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ListKind {
    Tools,
    Prompts,
    Resources,
}
/// With `subscription`, the listen request it answers; without, for a legacy session.
pub(crate) fn list_changed(out: &mut Vec<u8>, list: ListKind, subscription: Option<&RequestId>) {
    let method = match list {
        ListKind::Tools => "notifications/tools/list_changed",
        ListKind::Prompts => "notifications/prompts/list_changed",
        ListKind::Resources => "notifications/resources/list_changed",
    };
    notification(out, method, |out| {
        if let Some(id) = subscription {
            subscription_meta(out, id);
        }
    });
}
pub(crate) fn resource_updated(out: &mut Vec<u8>, uri: &str, subscription: Option<&RequestId>) {
    notification(out, "notifications/resources/updated", |out| {
        string(out, "uri", uri);
        if let Some(id) = subscription {
            subscription_meta(out, id);
        }
    });
}
/// What of a listen filter is honoured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
    pub(crate) uris: Vec<Box<str>>,
}
pub(crate) fn acknowledged(out: &mut Vec<u8>, filter: &Filter, subscription: &RequestId) {
    notification(out, "notifications/subscriptions/acknowledged", |out| {
        name(out, "notifications");
        out.push(b'{');
        for (honoured, key) in [
            (filter.tools, "toolsListChanged"),
            (filter.prompts, "promptsListChanged"),
            (filter.resources, "resourcesListChanged"),
        ] {
            if honoured {
                name(out, key);
                out.extend_from_slice(b"true");
            }
        }
        if !filter.uris.is_empty() {
            list_of(out, "resourceSubscriptions", &filter.uris, |out, uri| {
                write_string(out, uri);
            });
        }
        out.push(b'}');
        subscription_meta(out, subscription);
    });
}
/// A request of our own, legacy era only.
pub(crate) fn request(out: &mut Vec<u8>, id: &RequestId, method: &str, params: &Value) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.as_bytes());
    string(out, "method", method);
    if params.as_object().is_none_or(|params| !params.is_empty()) {
        name(out, "params");
        json(out, params);
    }
    out.push(b'}');
}
/// What the client is asked before a call can go on: questions by key, and what the call remembers. Modern era only.
pub(crate) fn input_required<'a>(
    out: &mut Vec<u8>,
    reply: Reply<'_>,
    questions: impl Iterator<Item = (&'a str, &'a str, &'a Value)>,
    state: &str,
) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(reply.id.as_bytes());
    out.extend_from_slice(b",\"result\":{\"resultType\":\"input_required\",\"inputRequests\":{");
    for (key, method, params) in questions {
        comma(out);
        write_string(out, key);
        out.extend_from_slice(b":{\"method\":");
        write_string(out, method);
        name(out, "params");
        json(out, params);
        out.push(b'}');
    }
    out.push(b'}');
    string(out, "requestState", state);
    result_meta(out, reply, None, false);
    out.extend_from_slice(b"}}");
}
/// Says that the server ended the listen request of this id (stdio only), or gave up a request of its own.
pub(crate) fn cancelled(out: &mut Vec<u8>, id: &RequestId, reason: &str) {
    notification(out, "notifications/cancelled", |out| {
        name(out, "requestId");
        out.extend_from_slice(id.as_bytes());
        string(out, "reason", reason);
    });
}

/// Opens a result and closes it: `{"jsonrpc":"2.0","id":…,"result":{…}}`.
///
/// Members are written by `body`, each with a comma after it where [`comma`] is called first.
fn result(
    out: &mut Vec<u8>,
    reply: Reply<'_>,
    meta: Option<&Meta>,
    body: impl FnOnce(&mut Vec<u8>),
) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(reply.id.as_bytes());
    out.extend_from_slice(b",\"result\":{");
    if reply.version.era() == Era::Modern {
        out.extend_from_slice(b"\"resultType\":\"complete\"");
    }
    body(out);
    result_meta(out, reply, meta, false);
    out.extend_from_slice(b"}}");
}

/// The `_meta` of a result: what the protocol says, then what the user says under keys that are not the protocol's.
fn result_meta(out: &mut Vec<u8>, reply: Reply<'_>, user: Option<&Meta>, subscription: bool) {
    let mut user = user
        .into_iter()
        .flatten()
        .filter(|(key, _)| !is_reserved(key))
        .peekable();
    let modern = reply.version.era() == Era::Modern;
    if !modern && user.peek().is_none() {
        return;
    }
    comma(out);
    out.extend_from_slice(b"\"_meta\":{");
    if modern {
        out.extend_from_slice(reply.identity.modern.as_bytes());
        if subscription {
            comma(out);
            subscription_id(out, reply.id);
        }
    }
    for (key, value) in user {
        comma(out);
        write_string(out, key);
        out.push(b':');
        json(out, value);
    }
    out.push(b'}');
}

fn notification(out: &mut Vec<u8>, method: &str, params: impl FnOnce(&mut Vec<u8>)) {
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

fn subscription_id(out: &mut Vec<u8>, id: &RequestId) {
    out.extend_from_slice(b"\"io.modelcontextprotocol/subscriptionId\":");
    out.extend_from_slice(id.as_bytes());
}

fn subscription_meta(out: &mut Vec<u8>, id: &RequestId) {
    comma(out);
    out.extend_from_slice(b"\"_meta\":{");
    subscription_id(out, id);
    out.push(b'}');
}

fn cache_hint(out: &mut Vec<u8>, version: ProtocolVersion, cache: CacheHint) {
    /// The largest integer that every JSON reader keeps exact.
    const MOST: u64 = (1 << 53) - 1;
    if version.era() == Era::Legacy {
        return;
    }
    let ttl = u64::try_from(cache.ttl.as_millis())
        .unwrap_or(MOST)
        .min(MOST);
    name(out, "ttlMs");
    integer(out, ttl);
    name(out, "cacheScope");
    out.extend_from_slice(match cache.scope {
        CacheScope::Public => b"\"public\"",
        CacheScope::Private => b"\"private\"",
    });
}

/// A comma, unless a bracket was just opened.
fn comma(out: &mut Vec<u8>) {
    if !matches!(out.last(), Some(b'{' | b'[')) {
        out.push(b',');
    }
}

/// The name of the next member, which needs no escapes.
fn name(out: &mut Vec<u8>, name: &str) {
    comma(out);
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

fn string(out: &mut Vec<u8>, key: &str, value: &str) {
    name(out, key);
    write_string(out, value);
}

fn optional(out: &mut Vec<u8>, key: &str, value: Option<&str>) {
    if let Some(value) = value {
        string(out, key, value);
    }
}

fn integer(out: &mut Vec<u8>, value: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// A finite number, as short as it can be.
fn number(out: &mut Vec<u8>, value: f64) {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < EXACT {
        #[allow(clippy::cast_possible_truncation, reason = "a whole number below 2^53")]
        integer(out, value as i64);
    } else {
        json(out, &value);
    }
}

/// Any value. Ours always can be written; if one cannot, `null` keeps the message whole.
fn json<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    let start = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(start);
        out.extend_from_slice(b"null");
    }
}

fn list_of<T>(out: &mut Vec<u8>, key: &str, items: &[T], mut each: impl FnMut(&mut Vec<u8>, &T)) {
    name(out, key);
    out.push(b'[');
    for item in items {
        comma(out);
        each(out, item);
    }
    out.push(b']');
}

fn text_block(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(b"{\"type\":\"text\",\"text\":");
    write_string(out, text);
    out.push(b'}');
}

fn block(out: &mut Vec<u8>, block: &ContentBlock) {
    match block {
        // Nearly all content is this, and goes through no serialiser.
        ContentBlock::Text(text) if text.annotations.is_none() && text.meta.is_none() => {
            text_block(out, &text.text);
        }
        block => json(out, block),
    }
}

#[cfg(test)]
mod tests;
