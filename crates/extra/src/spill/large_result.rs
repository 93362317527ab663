//! Results of tools with the `spill` option that are too large to send: they are kept, and their first part is sent
//! with directions for reading the rest.

use std::any::TypeId;
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use mcp_core::context::Context;
use mcp_core::error::{Error, ErrorKind};
use mcp_core::handler::dynamic::DynamicTool;
use mcp_core::handler::handler_error::{HandlerError, Result};
use mcp_core::handler::middleware::{Call, ForModel, Next};
use mcp_core::handler::option::{
    AdaptedTool, AddOn, OptionTools, OptionWrapping, StartingServer, ToolOption, WrappingPlace,
    find_option,
};
use mcp_core::handler::output::table_of;
use mcp_core::handler::run::{CallOutput, Running};
use mcp_protocol::encode::{Identity, ResponseContext};
use mcp_protocol::jsonrpc::RequestId;
use mcp_protocol::shape::structured::OutputRoot;
use mcp_protocol::types::{CallToolResult, ContentBlock, ResourceLink};
use mcp_protocol::{ProtocolVersion, encode};
use mcp_schema::rules::MIN_SPILLED_BYTES;
use mcp_stores::{KeptResult, ResultId};
use serde_json::json;

use crate::spill::kept_results::{AboutResult, KeptResults, mime_type};
use crate::spill::{
    Document, PageEnd, PageRequest, PageText, READ_RESULT, RESULT_URI, Unit, duration,
    escaped_size, page_note, shape,
};

/// Upper bound on the bytes of a response other than its text and the server's identity.
const MAX_FRAME_BYTES: usize = 2_048;

/// Time after which a store that does not answer is considered to have failed.
const STORE_TIME_LIMIT: Duration = Duration::from_secs(10);

/// A result that is too large to send.
pub(super) struct LargeResult<'a> {
    pub(super) kept: &'a KeptResults,
    pub(super) context: &'a Context,
    pub(super) tool: &'a str,
    /// Maximum size of the response, in bytes.
    pub(super) limit: usize,
    /// Time for which the result must stay readable because it belongs to a task.
    pub(super) task_ttl: Option<Duration>,
}

impl LargeResult<'_> {
    /// Returns the result or, if it is too large, its first part with directions for reading the rest.
    pub(super) async fn replace(self, mut result: CallToolResult) -> Result<CallToolResult> {
        let kept = self.kept;
        if !self.is_too_large(&result) {
            return Ok(result);
        }
        // Parts are cut from rewritten text, because text that is split across two parts might not be recognized.
        if !kept.rewrites.is_empty() {
            let rewritten = kept.rewrites.apply(ForModel::Tool(&mut result));
            rewritten.map_err(|cause| failure("a result cannot be kept", &cause))?;
            if !self.is_too_large(&result) {
                return Ok(result);
            }
        }
        let max = kept.max_result_bytes;
        let Some(LargeText {
            text,
            is_json,
            is_table,
        }) = LargeText::take(&mut result)
        else {
            return Ok(result);
        };
        // Otherwise, the resource would be too large to read.
        let frame = self.kept.identity.size().saturating_add(MAX_FRAME_BYTES);
        if escaped_size(&text).saturating_add(frame) > max {
            return Err(too_large(max));
        }
        let about = AboutResult {
            tool: self.tool.to_owned(),
            is_json,
            is_table,
            max_output: self.limit,
        };
        let about = serde_json::to_string(&about)?;
        let owner = self.context.caller().key();
        let stored = KeptResult::new(owner, about, text);
        let ttl = kept.limits.ttl.max(self.task_ttl.unwrap_or_default());
        let document = Document::read(&stored.text, is_json).with_tables(is_table);
        // This comes first, so that nothing is kept if the answer is an error.
        let shortened = self.shorten(&result, &document, Some(&stored.id), ttl)?;
        if self.keep(stored.clone(), ttl).await {
            return Ok(shortened);
        }
        self.shorten(&result, &document, None, ttl)
    }

    /// Returns `true` if the response would be larger than the limit.
    fn is_too_large(&self, result: &CallToolResult) -> bool {
        /// Upper bound on the growth of text in a response: structured content is repeated as text, in which a byte can
        /// take up to six bytes.
        const MAX_TEXT_GROWTH: usize = 7;
        let mut size = result
            .structured_content
            .as_ref()
            .map_or(0, |it| it.get().len());
        let mut is_plain = result.meta.is_none();
        for block in &result.content {
            match block {
                ContentBlock::Text(text) => size = size.saturating_add(text.text.len()),
                _ => is_plain = false,
            }
        }
        let frame = self.kept.identity.size().saturating_add(MAX_FRAME_BYTES);
        let most = size.saturating_mul(MAX_TEXT_GROWTH).saturating_add(frame);
        !(is_plain && most <= self.limit) && self.size(result) > self.limit
    }

    /// Returns the size of the response, with a one-byte id.
    fn size(&self, result: &CallToolResult) -> usize {
        let version = self.context.request().protocol_version();
        size(&self.kept.identity, version, result)
    }

    /// Keeps a result. Returns `false` if that is not possible.
    async fn keep(&self, result: KeptResult, ttl: Duration) -> bool {
        let tool = self.tool;
        match tokio::time::timeout(STORE_TIME_LIMIT, self.kept.store.keep(result, ttl)).await {
            Ok(Ok(true)) => return true,
            Ok(Ok(false)) => {
                tracing::warn!(tool, "there is no room to keep a large result");
            }
            Ok(Err(error)) => tracing::error!(tool, %error, "a large result cannot be kept"),
            Err(_) => tracing::error!(tool, "the result store does not respond"),
        }
        false
    }

    /// Returns the first part of a result with directions for reading the rest. `result` does not include the text.
    fn shorten(
        &self,
        result: &CallToolResult,
        document: &Document<'_>,
        id: Option<&ResultId>,
        ttl: Duration,
    ) -> Result<CallToolResult> {
        let compose = |page: &PageText| {
            let note = self.note(document, page, id, ttl);
            let mut content = vec![ContentBlock::text(&*page.text), ContentBlock::text(note)];
            content.extend(id.map(|id| ContentBlock::from(self.link(document, id, ttl))));
            content.extend(result.content.iter().cloned());
            let mut shortened = CallToolResult::new(content);
            shortened.is_error = result.is_error;
            shortened.meta.clone_from(&result.meta);
            shortened
        };
        // No number in the directions has more digits than the size.
        let size = document.text.len();
        let longest = PageText {
            text: String::new(),
            unit: document.usual_unit(),
            offset: 0,
            count: size.saturating_sub(1),
            total: size,
            end: PageEnd::CutAt(size),
        };
        let room = self.limit.checked_sub(self.size(&compose(&longest)));
        let page = room.and_then(|room| document.page(&PageRequest::default(), room).ok());
        // Images or other content may leave no room for text.
        let page = page.ok_or_else(|| too_large(self.limit))?;
        let shortened = compose(&page);
        if self.size(&shortened) > self.limit {
            return Err(too_large(self.limit));
        }
        Ok(shortened)
    }

    /// Describes the result to the model and says where to find the rest.
    fn note(
        &self,
        document: &Document<'_>,
        page: &PageText,
        id: Option<&ResultId>,
        ttl: Duration,
    ) -> String {
        let (tool, size, shape) = (self.tool, document.text.len(), shape(document));
        let whole = format!(
            "The result of `{tool}` is too large to return at once: {size} bytes, {shape}. The text above is its first part: \
             {}.",
            page_note(page)
        );
        match id {
            Some(id) => {
                let mut arguments = json!({"result_id": id.as_str()});
                if let PageEnd::CutAt(rest) = page.end {
                    arguments["offset"] = rest.into();
                    arguments["unit"] = Unit::Bytes.name().into();
                } else {
                    arguments["offset"] = page.next().unwrap_or_default().into();
                }
                format!(
                    "[{whole} The whole result is kept for {}. Read on with `{READ_RESULT}` {arguments}.]",
                    duration(ttl)
                )
            }
            None => format!("[{whole} The rest could not be kept; ask `{tool}` for less.]"),
        }
    }

    fn link(&self, document: &Document<'_>, id: &ResultId, ttl: Duration) -> ResourceLink {
        let mut link = ResourceLink::new(format!("{RESULT_URI}{id}"), self.tool)
            .with_mime_type(mime_type(document.is_json))
            .with_description(format!("The whole result, for {}", duration(ttl)));
        link.size = u64::try_from(document.text.len()).ok();
        link
    }
}

/// Returns the size of the response with a result and a one-byte id.
fn size(identity: &Identity, version: ProtocolVersion, result: &CallToolResult) -> usize {
    let id = RequestId::from_valid("0");
    let reply = ResponseContext {
        id: Some(&id),
        version,
        identity,
    };
    let mut out = Vec::new();
    encode::tool_result(&mut out, reply, &mut result.clone(), OutputRoot::Objects);
    out.len()
}

/// The text to keep from a result.
struct LargeText {
    text: String,
    is_json: bool,
    /// `true` if the JSON was shown as a table.
    is_table: bool,
}

impl LargeText {
    /// Takes the structured content or the text out of a result, whichever is longer.
    fn take(result: &mut CallToolResult) -> Option<Self> {
        let is_text = |block: &mut ContentBlock| matches!(block, ContentBlock::Text(_));
        let texts = result.content.extract_if(.., is_text);
        let texts: Vec<String> = texts
            .filter_map(|block| match block {
                ContentBlock::Text(text) => Some(text.text),
                _ => None,
            })
            .collect();
        let length = texts.iter().map(String::len).fold(0, usize::saturating_add);
        let json = result.structured_content.take();
        if let Some(json) = json.filter(|json| json.get().len() >= length) {
            let table = table_of(json.get());
            return Some(Self {
                is_table: table.is_some_and(|table| texts == [table]),
                text: Box::<str>::from(json).into(),
                is_json: true,
            });
        }
        (!texts.is_empty()).then(|| Self {
            text: texts.join("\n"),
            is_json: false,
            is_table: false,
        })
    }
}

fn too_large(limit: usize) -> HandlerError {
    HandlerError::exposed(format_args!(
        "the result is larger than {limit} bytes, so ask for less"
    ))
}

fn failure(what: &str, cause: &dyn Display) -> HandlerError {
    HandlerError::opaque(Error::new(
        ErrorKind::Configuration,
        format!("{what}: {cause}"),
    ))
}

// --- The `spill` option: the tool and the resource with which kept results are read, and the step that keeps them.

/// The `spill` option.
#[derive(Clone, Copy, Debug)]
pub struct Spill;

impl ToolOption for Spill {
    fn name(&self) -> &'static str {
        "spill"
    }

    fn adapt(&self, tool: &mut AdaptedTool) {
        if tool.max_output.is_none_or(|max| max < MIN_SPILLED_BYTES) {
            tool.problems.push(format!(
                "`spill` needs a `max_output` of at least {MIN_SPILLED_BYTES} bytes"
            ));
        }
        tool.no_output_schema = Some(
            "a tool with `spill` has no output schema, because results that are kept have no structured content",
        );
        tool.fits_output = true;
    }

    fn add_on(&self) -> AddOn {
        AddOn {
            name: "spill",
            adds_extension: false,
            start,
        }
    }
}

/// The option of the tool that reads parts of kept results: they fit already.
#[derive(Clone, Copy, Debug)]
struct FittingResult;

impl ToolOption for FittingResult {
    fn name(&self) -> &'static str {
        "spill"
    }

    fn adapt(&self, tool: &mut AdaptedTool) {
        tool.fits_output = true;
    }

    fn add_on(&self) -> AddOn {
        Spill.add_on()
    }

    fn wraps_calls(&self) -> bool {
        false
    }
}

/// The `spill` option of tools that are defined at run time.
pub trait SpillExt: Sized {
    /// Keeps results that are larger than [`max_output`](DynamicTool::max_output), which must be at least 2,000 bytes, so that
    /// the model can read them in parts. By default, such results are errors. The tool cannot have an
    /// [`output_schema`](DynamicTool::output_schema).
    ///
    /// If the server has no such tool when it starts, results that are too large remain errors.
    #[must_use]
    fn spill(self) -> Self;
}

impl SpillExt for DynamicTool {
    fn spill(mut self) -> Self {
        self.attach(Spill);
        self
    }
}

fn start(server: &mut StartingServer<'_>) {
    let kept = Arc::new(KeptResults::new(server));
    let option = TypeId::of::<Spill>();
    let mut reading = kept.reading_tool();
    reading.attach(FittingResult);
    server.added.tools.push(OptionTools {
        name: "kept results",
        is_option: |options| find_option::<Spill>(options).is_some(),
        is_for: |_, _| true,
        tools: vec![reading],
        reason: "this name is used by a tool that is added to servers with a `spill` tool; choose another",
    });
    server.added.templates.push(kept.whole_result());
    server.added.wrappings.push(OptionWrapping {
        option,
        is_requested: None,
        reads: None,
        place: WrappingPlace::Results,
        link: Box::new(move |next| {
            let kept = Arc::clone(&kept);
            Next::link(move |call| keep_if_large(Arc::clone(&kept), call, &next))
        }),
    });
}

/// Runs a call and replaces its result if it is too large to send.
fn keep_if_large(kept: Arc<KeptResults>, call: Call, next: &Next) -> Running {
    let Some(limit) = call.max_output() else {
        return next.start(call);
    };
    let (tool, context) = (Arc::<str>::from(call.name()), call.context().clone());
    let lifetime = call.result_lifetime();
    let running = next.start(call);
    Box::pin(async move {
        let result = match running.await? {
            CallOutput::Tool(result) => result,
            output => return Ok(output),
        };
        let large = LargeResult {
            kept: &kept,
            context: &context,
            tool: &tool,
            limit: limit.min(kept.max_result_bytes),
            task_ttl: lifetime(),
        };
        large.replace(result).await.map(CallOutput::Tool)
    })
}
