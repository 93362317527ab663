//! Results that are kept because they are too large to send: the tool that reads parts of them, and the resource that
//! contains the whole result.

use std::sync::Arc;

use mcp_core::context::Context;
use mcp_core::error::{Error, ErrorKind};
use mcp_core::handler::dynamic::{Arguments, DynamicTemplate, DynamicTool};
use mcp_core::handler::handler_error::{HandlerError, Result};
use mcp_core::handler::middleware::Rewrites;
use mcp_core::handler::option::StartingServer;
use mcp_core::limits::ResultLimits;
use mcp_protocol::encode::Identity;
use mcp_protocol::jsonrpc::constant;
use mcp_protocol::types::{CallToolResult, ContentBlock, ResourceContents};
use mcp_stores::{KeptResult, MemoryResultStore, ResultId, ResultStore};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::spill::{Document, PageRequest, READ_RESULT, RESULT_URI, Unit, page_note};

/// Number of bytes in a `read_result` response besides the part itself and the server's identity.
const PAGE_OVERHEAD: usize = 512;
/// Minimum size of a part, regardless of the size of the server's identity.
const MIN_PAGE: usize = 256;

/// The store for results, and what the parts that use it need to know of the server.
pub(super) struct KeptResults {
    pub(super) store: Arc<dyn ResultStore>,
    pub(super) limits: ResultLimits,
    /// Maximum size of any response, in bytes.
    pub(super) max_result_bytes: usize,
    pub(super) identity: Identity,
    pub(super) rewrites: Rewrites,
}

/// The description of a kept result, in its stored form.
#[derive(Serialize, Deserialize)]
pub(super) struct AboutResult {
    /// The name of the tool whose result it is. Without it, nobody can reach the result.
    #[serde(default)]
    pub(super) tool: String,
    pub(super) is_json: bool,
    /// `true` if its rows are shown as tables.
    pub(super) is_table: bool,
    /// Maximum size of a response that contains part of the result, in bytes.
    pub(super) max_output: usize,
}

impl KeptResults {
    /// Without a store, results are kept in memory.
    pub(super) fn new(server: &StartingServer<'_>) -> Self {
        let limits = server.limits.results.clone();
        let store = server.stores.get::<Arc<dyn ResultStore>>();
        Self {
            store: store.unwrap_or_else(|| Arc::new(MemoryResultStore::new(limits.clone()))),
            limits,
            max_result_bytes: server.limits.calls.max_result_bytes,
            identity: server.identity.clone(),
            rewrites: server.rewrites.clone(),
        }
    }

    /// Creates the tool that reads parts of results.
    pub(super) fn reading_tool(&self) -> DynamicTool {
        read_tool(&self.store, self.identity.size())
    }

    /// Creates the resource template for whole results. The template is not listed, because every result names its own
    /// URI.
    pub(super) fn whole_result(&self) -> DynamicTemplate {
        whole_result(&self.store)
    }
}

/// Returns one of this caller's results and its description, or `None` if the id is unknown, belongs to another caller or
/// has expired, or if the caller cannot see the result's tool.
///
/// # Errors
///
/// Fails if the request lacks scopes that the result's tool requires.
async fn look_up(
    store: &dyn ResultStore,
    context: &Context,
    id: &str,
) -> Result<Option<(KeptResult, AboutResult)>> {
    let caller = context.caller();
    let found = match ResultId::parse(id) {
        None => None,
        Some(id) => store.load(&id).await.map_err(|cause| {
            let cause = format!("the result store failed: {cause}");
            HandlerError::opaque(Error::new(ErrorKind::Io, cause))
        })?,
    };
    let Some(result) = found.filter(|result| *result.owner == *caller.key()) else {
        return Ok(None);
    };
    let about: AboutResult = serde_json::from_str(&result.about)?;
    let is_reachable = context.server().may_reach_work_of(&about.tool, caller)?;
    Ok(is_reachable.then_some((result, about)))
}

fn whole_result(store: &Arc<dyn ResultStore>) -> DynamicTemplate {
    let store = Arc::clone(store);
    let read = move |arguments: Arguments, context: Context| {
        let store = Arc::clone(&store);
        async move {
            let id: String = arguments.get("id")?;
            let Some((result, about)) = look_up(&*store, &context, &id).await? else {
                return Ok(None);
            };
            let mut contents = ResourceContents::text("", &*result.text);
            contents.mime_type = Some(mime_type(about.is_json).into());
            Ok::<_, HandlerError>(Some(contents))
        }
    };
    DynamicTemplate::new(format!("{RESULT_URI}{{id}}"), "kept result", read)
}

pub(super) const fn mime_type(is_json: bool) -> &'static str {
    if is_json {
        "application/json"
    } else {
        "text/plain"
    }
}

/// The input schema of the tool that reads parts of results.
const READ_INPUT: &str = r#"{
    "type": "object",
    "properties": {
        "result_id": {
            "type": "string",
            "description": "The id of the result, as given by the tool that made it",
            "maxLength": 128
        },
        "offset": {
            "type": "integer",
            "description": "The number of rows, lines or bytes to skip",
            "minimum": 0,
            "default": 0
        },
        "limit": {
            "type": "integer",
            "description": "The maximum number of rows, lines or bytes; by default, as many as fit",
            "minimum": 1
        },
        "unit": {
            "type": "string",
            "description": "The unit of `offset` and `limit`; by default, rows of JSON and lines of text",
            "enum": ["rows", "lines", "bytes"]
        },
        "fields": {
            "type": "array",
            "description": "The fields of rows to return; by default, all of them",
            "items": {"type": "string", "maxLength": 256},
            "maxItems": 100
        }
    },
    "required": ["result_id"],
    "additionalProperties": false
}"#;

fn read_tool(store: &Arc<dyn ResultStore>, identity_size: usize) -> DynamicTool {
    let input = constant(READ_INPUT);
    let store = Arc::clone(store);
    let read = move |arguments: Arguments, context: Context| {
        let store = Arc::clone(&store);
        async move {
            let id: String = arguments.get("result_id")?;
            let Some((result, about)) = look_up(&*store, &context, &id).await? else {
                return Err(HandlerError::exposed(
                    "there is no result with this id; it may have expired: call its tool again",
                ));
            };
            let AboutResult {
                is_json,
                is_table,
                max_output,
                ..
            } = about;
            let room = max_output.saturating_sub(identity_size.saturating_add(PAGE_OVERHEAD));
            let request = page_request(&arguments);
            let document = Document::read(&result.text, is_json).with_tables(is_table);
            let page = document.page(&request, room.max(MIN_PAGE));
            let page = page.map_err(HandlerError::exposed)?;
            let note = format!("[{}]", page_note(&page));
            let blocks = [page.text, note].map(ContentBlock::text);
            Ok::<_, HandlerError>(CallToolResult::new(blocks))
        }
    };
    DynamicTool::new(READ_RESULT, input, read)
        .description(
            "Reads a part of another tool's result that was too large to return at once and is kept for a while.",
        )
        .read_only(true)
        .open_world(false)
}

/// Returns the part requested by the arguments, which are known to match the schema.
fn page_request(arguments: &Arguments) -> PageRequest {
    // A number that is out of range is beyond the end of every result.
    let number = |value: &Value| {
        let number = value.as_u64().and_then(|number| number.try_into().ok());
        number.unwrap_or(usize::MAX)
    };
    let given = |name| arguments.0.get(name).filter(|value| !value.is_null());
    let fields = given("fields").and_then(Value::as_array);
    let fields = fields.into_iter().flatten().filter_map(Value::as_str);
    PageRequest {
        unit: arguments.text("unit").and_then(Unit::named),
        offset: given("offset").map_or(0, number),
        limit: given("limit").map(number),
        fields: fields.map(str::to_owned).collect(),
    }
}
