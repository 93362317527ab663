//! Writes complete messages in the form that each protocol version requires.
//!
//! Every function appends one message to `out`, without a trailing line break. Modern results contain `resultType`, the
//! server's identity and, for methods that support them, cache hints; legacy results contain none of these.

mod members;
mod notifications;
mod results;
#[cfg(test)]
mod tests;
mod text_gap;

use std::time::Duration;

use crate::ProtocolVersion;
use crate::jsonrpc::{ErrorObject, RequestId};
use crate::types::{CacheScope, Implementation};
pub use members::one_line;
use members::{write_integer, write_json, write_name, write_string_member};
pub use notifications::{
    ExtensionFilter, ListKind, ListenFilter, acknowledged, cancelled, extension_notification,
    list_changed, log, progress, request, resource_updated,
};
pub use results::{
    completion, discover, empty, extension_result, extension_result_with_gap, handler_error,
    initialize, input_required, list, list_with_gap, listen_result, prompt_result, resource_result,
    tool_result,
};
pub use text_gap::TextGap;

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
