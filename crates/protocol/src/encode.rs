//! Writes complete messages in the form that each protocol version requires.
//!
//! Every function appends one message to `out`, without a trailing line break. Modern results contain `resultType`, the
//! server's identity and, for methods that support them, cache hints; legacy results contain none of these.

mod notifications;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::encode::notifications::write_subscription_id;
use crate::jsonrpc::{ErrorObject, RequestId, write_string};
use crate::shape::structured::OutputRoot;
use crate::shape::{ShapeForVersion as _, structured};
use crate::types::{
    CacheScope, CallToolResult, Completion, ContentBlock, GetPromptResult, Implementation, Meta,
    ReadResourceResult, Role, ServerCapabilities,
};
use crate::{Era, ProtocolVersion, is_reserved_meta_key};

pub use notifications::{
    ExtensionFilter, ListKind, ListenFilter, acknowledged, cancelled, extension_notification,
    list_changed, log, progress, request, resource_updated,
};

/// Hints about how long a result may be cached, and by which clients. Sent only in modern protocol versions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheHint {
    /// The duration for which the result may be cached, sent in milliseconds.
    pub ttl: Duration,
    /// The clients that may use the cached result: only the requesting client, or any client.
    pub scope: CacheScope,
}

/// The server's identity, including pre-rendered text for modern results.
#[derive(Clone, Debug)]
pub struct Identity {
    implementation: Implementation,
    /// `{"io.modelcontextprotocol/serverInfo":{…}}` without the outer braces, for `_meta` in modern results.
    modern: Box<str>,
    /// Reserved `_meta` keys defined by the server's extensions.
    meta_keys: Vec<String>,
}

impl Identity {
    /// Creates an identity and renders its text.
    #[must_use]
    pub fn new(implementation: Implementation) -> Self {
        let mut modern = b"\"io.modelcontextprotocol/serverInfo\":".to_vec();
        write_json(&mut modern, &implementation);
        Self {
            implementation,
            modern: String::from_utf8_lossy(&modern).into(),
            meta_keys: Vec::new(),
        }
    }

    /// Sets the reserved `_meta` keys that results may contain because the server's extensions define them.
    #[must_use]
    pub fn with_meta_keys(mut self, keys: Vec<String>) -> Self {
        self.meta_keys = keys;
        self
    }

    /// Returns the size of the identity in a modern result, in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.modern.len()
    }

    fn permits_meta_key(&self, key: &str) -> bool {
        self.meta_keys.iter().any(|known| known == key)
    }

    /// Returns the identity passed to [`new`](Self::new).
    #[inline]
    #[must_use]
    pub fn implementation(&self) -> &Implementation {
        &self.implementation
    }
}

/// The context required for every response: the request id, the protocol version and the server's identity.
#[derive(Clone, Copy, Debug)]
pub struct ResponseContext<'a> {
    /// The id of the request. If `None`, only the result is written, without a message around it.
    pub id: Option<&'a RequestId>,
    /// The protocol version of the request.
    pub version: ProtocolVersion,
    /// The identity of the server.
    pub identity: &'a Identity,
}

/// Writes an error response. The response has no id if the request's id is unknown.
pub fn error(out: &mut Vec<u8>, id: Option<&RequestId>, error: &ErrorObject) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\"");
    if let Some(id) = id {
        out.extend_from_slice(b",\"id\":");
        out.extend_from_slice(id.as_bytes());
    }
    out.extend_from_slice(b",\"error\":{\"code\":");
    write_integer(out, error.code);
    write_string_member(out, "message", &error.message);
    if let Some(data) = &error.data {
        write_name(out, "data");
        write_json(out, data);
    }
    out.extend_from_slice(b"}}");
}

// --- Results of successful requests.

/// Writes an empty result, which is `{}` in legacy protocol versions.
pub fn empty(out: &mut Vec<u8>, reply: ResponseContext<'_>) {
    write_result(out, reply, None, |_| {});
}

/// Writes the result of `initialize`. The protocol version in `reply` is the negotiated version.
pub fn initialize(
    out: &mut Vec<u8>,
    reply: ResponseContext<'_>,
    capabilities: &ServerCapabilities,
    instructions: Option<&str>,
) {
    let version = reply.version;
    let (mut capabilities, mut implementation) =
        (capabilities.clone(), reply.identity.implementation.clone());
    capabilities.shape(version);
    implementation.shape(version);
    write_result(out, reply, None, |out| {
        write_string_member(out, "protocolVersion", version.as_str());
        write_name(out, "capabilities");
        write_json(out, &capabilities);
        write_name(out, "serverInfo");
        write_json(out, &implementation);
        write_optional_string(out, "instructions", instructions);
    });
}

/// Writes the result of `server/discover`.
pub fn discover(
    out: &mut Vec<u8>,
    reply: ResponseContext<'_>,
    capabilities: &ServerCapabilities,
    instructions: Option<&str>,
    cache: CacheHint,
) {
    let mut capabilities = capabilities.clone();
    capabilities.shape(reply.version);
    write_result(out, reply, None, |out| {
        write_name(out, "supportedVersions");
        write_json(out, &ProtocolVersion::supported());
        write_name(out, "capabilities");
        write_json(out, &capabilities);
        write_optional_string(out, "instructions", instructions);
        write_cache_hint(out, reply.version, cache);
    });
}

/// Writes a page of a list. `members` is the page's members as rendered text, such as `"tools":[…],"nextCursor":"…"`.
pub fn list(out: &mut Vec<u8>, reply: ResponseContext<'_>, members: &str, cache: CacheHint) {
    let gap = list_with_gap(out, reply, cache);
    gap.fill(out, members.as_bytes());
}

/// Writes a page of a list without its members, for callers that want to avoid copying them.
pub fn list_with_gap(out: &mut Vec<u8>, reply: ResponseContext<'_>, cache: CacheHint) -> TextGap {
    let mut at = 0;
    write_result(out, reply, None, |out| {
        write_comma(out);
        at = out.len();
        write_cache_hint(out, reply.version, cache);
    });
    TextGap::at(at)
}

/// Writes the result of `tools/call`, adapted to the protocol version. Structured content is repeated as text unless
/// the result already contains text.
///
/// `root` is the kind of value that the tool's output schema describes.
pub fn tool_result(
    out: &mut Vec<u8>,
    reply: ResponseContext<'_>,
    tool: &mut CallToolResult,
    root: OutputRoot,
) {
    tool.shape(reply.version);
    write_result(out, reply, tool.meta.as_ref(), |out| {
        write_list(out, "content", &tool.content, write_content_block);
        if let Some(json) = &tool.structured_content {
            write_name(out, "structuredContent");
            let is_wrapped = root.wraps(json, reply.version);
            if is_wrapped {
                out.push(b'{');
                write_name(out, structured::MEMBER);
            }
            write_raw(out, json.get());
            if is_wrapped {
                out.push(b'}');
            }
        }
        if tool.is_error {
            write_name(out, "isError");
            out.extend_from_slice(b"true");
        }
    });
}

/// Writes a failed tool result with text for the model to read.
pub fn handler_error(out: &mut Vec<u8>, reply: ResponseContext<'_>, text: String) {
    let mut result = CallToolResult::error(text);
    tool_result(out, reply, &mut result, OutputRoot::Objects);
}

/// Writes the result of `prompts/get`, adapted to the protocol version.
pub fn prompt_result(out: &mut Vec<u8>, reply: ResponseContext<'_>, mut prompt: GetPromptResult) {
    prompt.shape(reply.version);
    write_result(out, reply, prompt.meta.as_ref(), |out| {
        write_optional_string(out, "description", prompt.description.as_deref());
        write_list(out, "messages", &prompt.messages, |out, message| {
            out.extend_from_slice(match message.role {
                Role::User => b"{\"role\":\"user\",\"content\":",
                Role::Assistant => b"{\"role\":\"assistant\",\"content\":".as_slice(),
            });
            write_content_block(out, &message.content);
            out.push(b'}');
        });
    });
}

/// Writes the result of `resources/read`, adapted to the protocol version.
pub fn resource_result(
    out: &mut Vec<u8>,
    reply: ResponseContext<'_>,
    mut resource: ReadResourceResult,
    cache: CacheHint,
) {
    resource.shape(reply.version);
    write_result(out, reply, resource.meta.as_ref(), |out| {
        write_list(out, "contents", &resource.contents, |out, contents| {
            out.push(b'{');
            write_string_member(out, "uri", &contents.uri);
            write_optional_string(out, "mimeType", contents.mime_type.as_deref());
            write_optional_string(out, "text", contents.text.as_deref());
            write_optional_string(out, "blob", contents.blob.as_deref());
            if let Some(meta) = &contents.meta {
                write_name(out, "_meta");
                write_json(out, meta);
            }
            out.push(b'}');
        });
        write_cache_hint(out, reply.version, cache);
    });
}

/// Writes the result of `completion/complete`.
pub fn completion(out: &mut Vec<u8>, reply: ResponseContext<'_>, completion: &Completion) {
    /// The maximum number of values, which is the same in all protocol versions.
    const MAX_VALUES: usize = 100;
    let values = completion
        .values
        .get(..MAX_VALUES)
        .unwrap_or(&completion.values);
    write_result(out, reply, None, |out| {
        write_name(out, "completion");
        out.push(b'{');
        write_list(out, "values", values, |out, value| write_string(out, value));
        if let Some(total) = completion.total {
            write_name(out, "total");
            write_integer(out, total);
        }
        if let Some(has_more) = completion.has_more {
            write_name(out, "hasMore");
            write_json(out, &has_more);
        }
        out.push(b'}');
    });
}

/// Writes a result defined by an extension: the result of one of its methods, or a special result for a method in the
/// core protocol. `members` is a JSON object without `resultType` or `_meta`; in legacy protocol versions, the result
/// consists only of these members.
pub fn extension_result(
    out: &mut Vec<u8>,
    reply: ResponseContext<'_>,
    (result_type, members): (&str, &str),
    meta: Option<&Meta>,
    cache: Option<CacheHint>,
) {
    write_extension_result(out, reply, (result_type, meta, cache), |out| {
        let inner = members
            .trim()
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'));
        let inner = inner.map(str::trim).filter(|inner| !inner.is_empty());
        if let Some(inner) = inner {
            write_comma(out);
            write_raw(out, inner);
        }
    });
}

/// Like [`extension_result`], but omits the members, for callers that want to avoid copying them. The gap must be
/// filled with the object on one line, without its braces and without its first quotation mark.
pub fn extension_result_with_gap(
    out: &mut Vec<u8>,
    reply: ResponseContext<'_>,
    result_type: &str,
    meta: Option<&Meta>,
    cache: Option<CacheHint>,
) -> TextGap {
    let mut at = 0;
    write_extension_result(out, reply, (result_type, meta, cache), |out| {
        write_comma(out);
        // This is the opening quote of the first member's name. Without it, the text could end with `{`, and the next
        // member would not be preceded by a comma.
        out.push(b'"');
        at = out.len();
    });
    TextGap::at(at)
}

/// Writes a result defined by an extension. `body` writes its members.
fn write_extension_result(
    out: &mut Vec<u8>,
    reply: ResponseContext<'_>,
    (result_type, meta, cache): (&str, Option<&Meta>, Option<CacheHint>),
    body: impl FnOnce(&mut Vec<u8>),
) {
    let mut quoted = Vec::new();
    write_string(&mut quoted, result_type);
    write_framed_result(out, reply, (&quoted, meta, false), |out| {
        body(out);
        if let Some(cache) = cache {
            write_cache_hint(out, reply.version, cache);
        }
    });
}

/// Writes the response with which the server ends a listen request, including `resultType` and the subscription id.
pub fn listen_result(out: &mut Vec<u8>, reply: ResponseContext<'_>) {
    write_framed_result(out, reply, (b"\"complete\"", None, true), |_| {});
}

/// Writes a call's state and the questions that the client must answer before the call can continue. Each question is
/// written under its key. Used only in modern protocol versions.
pub fn input_required<'a>(
    out: &mut Vec<u8>,
    reply: ResponseContext<'_>,
    questions: impl Iterator<Item = (&'a str, &'a str, &'a Value)>,
    state: &str,
) {
    write_framed_result(out, reply, (b"\"input_required\"", None, false), |out| {
        write_name(out, "inputRequests");
        out.push(b'{');
        for (key, method, params) in questions {
            write_comma(out);
            write_string(out, key);
            out.extend_from_slice(b":{\"method\":");
            write_string(out, method);
            write_name(out, "params");
            write_json(out, params);
            out.push(b'}');
        }
        out.push(b'}');
        write_string_member(out, "requestState", state);
    });
}

/// Writes a complete result: `{"jsonrpc":"2.0","id":…,"result":{…}}`.
///
/// `body` writes the members and calls [`write_comma`] before each one to insert the separators.
fn write_result(
    out: &mut Vec<u8>,
    reply: ResponseContext<'_>,
    meta: Option<&Meta>,
    body: impl FnOnce(&mut Vec<u8>),
) {
    write_framed_result(out, reply, (b"\"complete\"", meta, false), body);
}

/// Like [`write_result`], but for a result of any type; the type is given as JSON. If the request is a listen request,
/// the result's `_meta` contains the subscription id.
#[inline]
fn write_framed_result(
    out: &mut Vec<u8>,
    reply: ResponseContext<'_>,
    (result_type, meta, is_subscription): (&[u8], Option<&Meta>, bool),
    body: impl FnOnce(&mut Vec<u8>),
) {
    if let Some(id) = reply.id {
        out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
        out.extend_from_slice(id.as_bytes());
        out.extend_from_slice(b",\"result\":{");
    } else {
        out.push(b'{');
    }
    if reply.version.era() == Era::Modern {
        out.extend_from_slice(b"\"resultType\":");
        out.extend_from_slice(result_type);
    }
    body(out);
    write_result_meta(out, reply, meta, is_subscription);
    if reply.id.is_some() {
        out.extend_from_slice(b"}}");
    } else {
        out.push(b'}');
    }
}

/// Writes a result's `_meta`: first the members defined by the protocol, then the user's members, except for reserved
/// keys that none of the server's extensions define.
fn write_result_meta(
    out: &mut Vec<u8>,
    reply: ResponseContext<'_>,
    user: Option<&Meta>,
    subscription: bool,
) {
    let mut user = user
        .into_iter()
        .flatten()
        .filter(|(key, _)| !is_reserved_meta_key(key) || reply.identity.permits_meta_key(key))
        .peekable();
    let modern = reply.version.era() == Era::Modern;
    if !modern && user.peek().is_none() {
        return;
    }
    write_comma(out);
    out.extend_from_slice(b"\"_meta\":{");
    if modern {
        out.extend_from_slice(reply.identity.modern.as_bytes());
        if let Some(id) = reply.id.filter(|_| subscription) {
            write_subscription_id(out, id);
        }
    }
    for (key, value) in user {
        write_comma(out);
        write_string(out, key);
        out.push(b':');
        write_json(out, value);
    }
    out.push(b'}');
}

fn write_cache_hint(out: &mut Vec<u8>, version: ProtocolVersion, cache: CacheHint) {
    /// The largest integer that all JSON readers represent exactly.
    const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;
    if version.era() == Era::Legacy {
        return;
    }
    let ttl = u64::try_from(cache.ttl.as_millis())
        .unwrap_or(MAX_SAFE_INTEGER)
        .min(MAX_SAFE_INTEGER);
    write_name(out, "ttlMs");
    write_integer(out, ttl);
    write_name(out, "cacheScope");
    out.extend_from_slice(match cache.scope {
        CacheScope::Public => b"\"public\"",
        CacheScope::Private => b"\"private\"",
    });
}

fn write_text_block(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(b"{\"type\":\"text\",\"text\":");
    write_string(out, text);
    out.push(b'}');
}

fn write_content_block(out: &mut Vec<u8>, block: &ContentBlock) {
    match block {
        // Nearly all content has this form, so such blocks bypass the general serializer.
        ContentBlock::Text(text) if text.annotations.is_none() && text.meta.is_none() => {
            write_text_block(out, &text.text);
        }
        block => write_json(out, block),
    }
}

// --- Text that is omitted from a message, so that it need not be copied.

/// The position of text that has been omitted from a message.
#[derive(Clone, Copy, Debug)]
pub struct TextGap(usize);

impl TextGap {
    /// Minimum size in bytes from which a text is shared by messages rather than copied into each.
    pub const MIN_SHARED_BYTES: usize = 8 << 10;

    /// Marks the position at this index of a message.
    fn at(index: usize) -> Self {
        Self(index)
    }

    /// Inserts the omitted text.
    pub fn fill(self, out: &mut Vec<u8>, missing: &[u8]) {
        let after = self.split(out);
        // Reserves an extra byte for the line break, because growing by one byte later would copy the whole message
        // again.
        let length = missing.len().saturating_add(after.len());
        out.reserve(length.saturating_add(1));
        out.extend_from_slice(missing);
        out.extend_from_slice(&after);
    }

    /// Removes and returns the text after the gap.
    pub fn split(self, out: &mut Vec<u8>) -> Vec<u8> {
        out.split_off(self.0.min(out.len()))
    }

    /// Returns the text before and after the gap.
    #[must_use]
    pub fn parts(self, message: &[u8]) -> (&[u8], &[u8]) {
        message.split_at(self.0.min(message.len()))
    }
}

// --- Appends object members and array items, with commas between them.

/// Returns the JSON on a single line, as required in messages.
///
/// Line breaks in strings are escaped, so every literal line break is whitespace.
#[must_use]
pub fn one_line(json: &str) -> Cow<'_, str> {
    if memchr::memchr2(b'\n', b'\r', json.as_bytes()).is_some() {
        Cow::Owned(json.replace(['\n', '\r'], " "))
    } else {
        Cow::Borrowed(json)
    }
}

/// Appends text that is already JSON. All JSON text from user code is written by this function or [`write_json`].
fn write_raw(out: &mut Vec<u8>, json: &str) {
    out.extend_from_slice(one_line(json).as_bytes());
}

/// Appends a comma unless a bracket has just been opened.
fn write_comma(out: &mut Vec<u8>) {
    if !matches!(out.last(), Some(b'{' | b'[')) {
        out.push(b',');
    }
}

/// Appends the name of the next member. The name must not need escaping.
fn write_name(out: &mut Vec<u8>, name: &str) {
    write_comma(out);
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

fn write_string_member(out: &mut Vec<u8>, key: &str, value: &str) {
    write_name(out, key);
    write_string(out, value);
}

fn write_optional_string(out: &mut Vec<u8>, key: &str, value: Option<&str>) {
    if let Some(value) = value {
        write_string_member(out, key, value);
    }
}

fn write_integer(out: &mut Vec<u8>, value: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends a finite number in its shortest form.
fn write_number(out: &mut Vec<u8>, value: f64) {
    const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < MAX_EXACT_INTEGER {
        #[allow(clippy::cast_possible_truncation, reason = "a whole number below 2^53")]
        write_integer(out, value as i64);
    } else {
        write_json(out, &value);
    }
}

/// Appends any value on a single line. Values created by the framework can always be serialized; if serialization ever
/// fails, `null` is written so that the message remains valid.
fn write_json<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    let start = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(start);
        out.extend_from_slice(b"null");
    }
    // JSON that was stored as text is written unchanged and may contain line breaks.
    let written = out.get_mut(start..).unwrap_or_default();
    if memchr::memchr2(b'\n', b'\r', written).is_some() {
        for byte in written {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }
}

fn write_list<T>(
    out: &mut Vec<u8>,
    key: &str,
    items: &[T],
    mut each: impl FnMut(&mut Vec<u8>, &T),
) {
    write_name(out, key);
    out.push(b'[');
    for item in items {
        write_comma(out);
        each(out, item);
    }
    out.push(b']');
}
