//! Writes whole messages: responses and notifications, in the shape of a revision.
//!
//! Every function appends one message to `out`, without a line end. Modern results receive `resultType`, the server's
//! identity and, where the method has them, cache hints; legacy results receive none of these.

use std::time::Duration;

use crate::jsonrpc::{ErrorObject, RequestId};
use crate::protocol::ProtocolVersion;
use crate::types::{
    CacheScope, CallToolResult, Completion, GetPromptResult, Implementation, LoggingLevel,
    ReadResourceResult, ServerCapabilities,
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
        let _ = &implementation;
        todo!()
    }
    pub(crate) fn implementation(&self) -> &Implementation {
        let _ = &self.modern;
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
    let _ = (out, id, error);
    todo!()
}
/// A result without members of its own: `{}` in the legacy era.
pub(crate) fn empty(out: &mut Vec<u8>, reply: Reply<'_>) {
    let _ = (out, reply);
    todo!()
}
pub(crate) fn initialize(
    out: &mut Vec<u8>,
    reply: Reply<'_>,
    capabilities: &ServerCapabilities,
    instructions: Option<&str>,
) {
    let _ = (out, reply, capabilities, instructions);
    todo!()
}
pub(crate) fn discover(
    out: &mut Vec<u8>,
    reply: Reply<'_>,
    capabilities: &ServerCapabilities,
    instructions: Option<&str>,
    cache: CacheHint,
) {
    let _ = (out, reply, capabilities, instructions, cache);
    todo!()
}
/// A list page; `members` is the rendered text of its members, such as `"tools":[…],"nextCursor":"…"`.
pub(crate) fn list(out: &mut Vec<u8>, reply: Reply<'_>, members: &str, cache: CacheHint) {
    let _ = (out, reply, members, cache);
    todo!()
}
/// `has_output_schema`: whether this revision was shown an output schema for the tool (structured content needs one up
/// to 2025-11-25).
pub(crate) fn tool_result(out: &mut Vec<u8>, reply: Reply<'_>, result: CallToolResult) {
    let _ = (out, reply, result);
    todo!()
}
pub(crate) fn prompt_result(out: &mut Vec<u8>, reply: Reply<'_>, result: GetPromptResult) {
    let _ = (out, reply, result);
    todo!()
}
pub(crate) fn resource_result(
    out: &mut Vec<u8>,
    reply: Reply<'_>,
    result: ReadResourceResult,
    cache: CacheHint,
) {
    let _ = (out, reply, result, cache);
    todo!()
}
pub(crate) fn completion(out: &mut Vec<u8>, reply: Reply<'_>, completion: &Completion) {
    let _ = (out, reply, completion);
    todo!()
}
/// The answer to a listen request that the server ends: `resultType` and the subscription id.
pub(crate) fn listen_result(out: &mut Vec<u8>, reply: Reply<'_>) {
    let _ = (out, reply);
    todo!()
}

/// `token` is the raw JSON the client sent.
pub(crate) fn progress(
    out: &mut Vec<u8>,
    version: ProtocolVersion,
    token: &str,
    progress: f64,
    total: Option<f64>,
    message: Option<&str>,
) {
    let _ = (out, version, token, progress, total, message);
    todo!()
}
/// `data` is JSON.
pub(crate) fn log(out: &mut Vec<u8>, level: LoggingLevel, logger: Option<&str>, data: &str) {
    let _ = (out, level, logger, data);
    todo!()
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
    let _ = (out, list, subscription);
    todo!()
}
pub(crate) fn resource_updated(out: &mut Vec<u8>, uri: &str, subscription: Option<&RequestId>) {
    let _ = (out, uri, subscription);
    todo!()
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
    let _ = (out, filter, subscription);
    todo!()
}
/// Says that the server ended the listen request of this id; stdio only.
pub(crate) fn cancelled(out: &mut Vec<u8>, id: &RequestId, reason: &str) {
    let _ = (out, id, reason);
    todo!()
}
