//! Search on demand for servers with many tools: see [`ToolSearch`].

mod index;

use std::borrow::Cow;
use std::sync::{Arc, Mutex, OnceLock, Weak};

use mcp_core::context::{Capability, Context};
use mcp_core::dispatch::{CoveringSource, ServerAddOn, ServerParts};
use mcp_core::error::{Error, ErrorKind};
use mcp_core::handler::decode::entries;
use mcp_core::handler::dynamic::{Arguments, DynamicTool};
use mcp_core::handler::handler_error::HandlerError;
use mcp_core::handler::listing::Page;
use mcp_core::handler::option::ToolUse;
use mcp_core::handler::output::Json;
use mcp_core::registry::{
    Callable, CallerView, Registry, Snapshot, SourceAnswer, SourceRequest, SourceTool, ToolSource,
};
use mcp_core::sync::lock;
use mcp_protocol::jsonrpc::{ErrorObject, ParseLimits, Scan, constant, unquote};
use mcp_protocol::types::TaskSupport;
use serde_json::{Value, json};

use crate::tool_search::index::ToolIndex;

/// Lets models search for tools instead of reading the definitions of all of them, for `Server::with`. By default, all tools are
/// listed.
///
/// If a client may use more tools than the number passed to [`above`](Self::above), its list contains only the
/// pinned tools and two others: `search_tools`, which returns the tools that match a query along with their input
/// schemas, and `call_tool`, which calls them. A call through `call_tool` is treated as a call to the named tool,
/// with the same access rules, limits, middleware, questions and results. Tools can also be called by their own
/// names, whether or not they are listed.
///
/// Start-up fails if any other tool has one of these two names.
///
/// ```
/// use mcp_runtime::prelude::*;
/// use mcp_runtime::extension::ToolSearch;
///
/// let server = new_server!().with(ToolSearch::above(40).pin(["list_issues"]));
/// ```
#[derive(Clone, Debug)]
#[must_use = "it takes effect with `Server::with`"]
pub struct ToolSearch {
    above: usize,
    pinned: Vec<String>,
    max_results: u16,
}

impl ServerAddOn for ToolSearch {
    fn add_to(self, parts: &mut ServerParts) {
        parts.cover = Some(Box::new(move || Ok(Arc::new(SearchTools::new(self)?))));
    }
}

impl ToolSearch {
    /// The name of the tool that searches.
    const SEARCH: &str = "search_tools";
    /// The name of the tool that calls another tool.
    const CALL: &str = "call_tool";

    /// Returns `true` for the names of the two tools.
    fn is_name(name: &str) -> bool {
        name == Self::SEARCH || name == Self::CALL
    }

    /// Replaces the list of tools for clients that could use more than this number of tools.
    pub const fn above(tools: usize) -> Self {
        Self {
            above: tools,
            pinned: Vec::new(),
            max_results: 8,
        }
    }

    /// Adds tools that are always listed because models need them often. Start-up fails if one of these tools does not
    /// exist.
    pub fn pin(mut self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.pinned.extend(tools.into_iter().map(Into::into));
        self
    }

    /// Sets the maximum number of tools that a search returns. Defaults to 8; the minimum is 1.
    pub fn max_results(mut self, tools: u16) -> Self {
        self.max_results = if tools == 0 { 1 } else { tools };
        self
    }
}

// --- Two tools that replace a long list: one searches for tools, and the other calls a tool found by a search.
//
// A call through `call_tool` is first converted into a call to the tool that it names, so it is processed exactly like
// a direct call.

/// The two tools and the options for them.
pub(crate) struct SearchTools {
    options: ToolSearch,
    search: SourceTool,
    call: SourceTool,
    registry: Arc<SearchedRegistry>,
}

/// The registry, and the index of its tools.
#[derive(Default)]
struct SearchedRegistry {
    /// Set later, because the registry is built after the two tools, which reserve names in it.
    registry: OnceLock<Weak<Registry>>,
    /// The index of the latest snapshot that has been searched.
    index: Mutex<(Weak<Snapshot>, Arc<ToolIndex>)>,
}

impl SearchedRegistry {
    fn snapshot(&self) -> Result<Arc<Snapshot>, HandlerError> {
        let registry = self.registry.get().and_then(Weak::upgrade);
        let registry =
            registry.ok_or_else(|| HandlerError::framework_bug("there is nothing to search"))?;
        Ok(registry.snapshot())
    }

    /// Returns the tools of a snapshot that match a query and that the request may use, best match first.
    fn search<'v>(
        &self,
        snapshot: &Arc<Snapshot>,
        view: CallerView<'v>,
        query: &str,
    ) -> Vec<&'v Arc<Callable>> {
        let (tools, permitted): (Vec<_>, Vec<_>) = view.tools_with_permission().unzip();
        let found = self.index(snapshot, &tools).search(query, &permitted);
        let found = found.into_iter();
        found.filter_map(|tool| tools.get(tool).copied()).collect()
    }

    /// Returns the index of these tools of a snapshot. The first search of a snapshot creates it.
    fn index(&self, snapshot: &Arc<Snapshot>, tools: &[&Arc<Callable>]) -> Arc<ToolIndex> {
        let mut latest = lock(&self.index);
        let snapshot = Arc::downgrade(snapshot);
        if !Weak::ptr_eq(&latest.0, &snapshot) {
            let tools = tools.iter().filter_map(|tool| tool.as_tool());
            *latest = (snapshot, Arc::new(ToolIndex::new(tools)));
        }
        Arc::clone(&latest.1)
    }
}

impl SearchTools {
    pub(crate) fn new(options: ToolSearch) -> Result<Self, Error> {
        let registry = Arc::<SearchedRegistry>::default();
        Ok(Self {
            search: SourceTool::built_in(search_tool(&options, &registry))?,
            call: SourceTool::built_in(call_tool(&registry))?,
            options,
            registry,
        })
    }

    /// Returns the tool for this name.
    ///
    /// # Errors
    ///
    /// Returns an error if there is a bug in the framework.
    fn own(&self, name: &str) -> Result<Arc<Callable>, ErrorObject> {
        let tools = [&self.search, &self.call];
        let mut tools = tools.into_iter().filter(|tool| tool.name() == name);
        let tool = tools.find_map(SourceTool::built_in_callable);
        let tool = tool.ok_or_else(|| ErrorObject::internal("a tool of the search is missing"));
        tool.map(Arc::clone)
    }
}

impl ToolSource for SearchTools {
    fn name(&self) -> &'static str {
        "tool search"
    }

    fn list(
        &self,
        request: &SourceRequest<'_>,
        _cursor: Option<&str>,
    ) -> SourceAnswer<Page<SourceTool>> {
        SourceAnswer::ready(Page::new(if self.covers(request.view()) {
            vec![self.search.clone(), self.call.clone()]
        } else {
            Vec::new()
        }))
    }

    fn resolve(
        &self,
        _request: &SourceRequest<'_>,
        name: &str,
    ) -> SourceAnswer<Option<SourceTool>> {
        let tool = [&self.search, &self.call]
            .into_iter()
            .find(|tool| tool.name() == name);
        SourceAnswer::ready(tool.cloned())
    }

    fn reserves(&self, name: &str) -> Option<String> {
        let reason = "this name is used by a tool that `ToolSearch` adds; choose another";
        ToolSearch::is_name(name).then(|| reason.to_owned())
    }
}

impl CoveringSource for SearchTools {
    /// Sets the registry to search.
    ///
    /// # Errors
    ///
    /// Fails if a pinned tool does not exist.
    fn attach(&self, registry: &Arc<Registry>) -> Result<(), Error> {
        // The value cannot have been set yet: starting consumes the server, so this runs only once.
        let _ = self.registry.registry.set(Arc::downgrade(registry));
        // A pinned tool that exists but is not selected is omitted.
        let known = registry.snapshot().names(Capability::Tools);
        let mut pinned = self.options.pinned.iter();
        match pinned.find(|name| !known.contains(name)) {
            None => Ok(()),
            Some(name) => {
                let message =
                    format!("the tool `{name}` cannot be pinned, because it does not exist");
                Err(Error::new(ErrorKind::Configuration, message))
            }
        }
    }

    fn covers(&self, view: CallerView<'_>) -> bool {
        view.has_more_tools_than(self.options.above)
    }

    fn keeps(&self, tool: &Callable) -> bool {
        let mut pinned = self.options.pinned.iter();
        pinned.any(|name| **name == *tool.name) || is_listed_for_clients(tool)
    }

    fn target<'m>(
        &self,
        name: &str,
        arguments: &'m str,
        view: CallerView<'_>,
        limits: &ParseLimits,
    ) -> Result<(Arc<Callable>, Cow<'m, str>), ErrorObject> {
        if name == ToolSearch::CALL
            && let Some(call) = NamedCall::read(arguments, limits)
            && let Some(tool) = view.visible_tool(&call.name)?
            && refusal(tool, &call.name).is_none()
            && !(call.is_in_string && tool.is_strict())
        {
            return Ok((Arc::clone(tool), call.arguments));
        }
        // If the named tool cannot be called, `call_tool` itself runs and explains the problem to the model.
        Ok((self.own(name)?, arguments.into()))
    }
}

/// Returns `true` for tools whose definitions must be in the list that clients receive, because the list tells hosts
/// which page belongs to a tool, which tools are not for models, which calls must be run as tasks, and which arguments
/// to repeat in headers.
fn is_listed_for_clients(tool: &Callable) -> bool {
    let execution = tool.as_tool().and_then(|tool| tool.execution.as_ref());
    let ToolUse {
        companion,
        is_hidden_from_models,
    } = tool.tool_use();
    companion.is_some()
        || is_hidden_from_models
        || execution.is_some_and(|execution| execution.task_support == TaskSupport::Required)
        || tool.mirrors_arguments()
}

/// Returns the reason why a tool cannot be called through `call_tool`, or `None` if it can.
fn refusal(tool: &Callable, name: &str) -> Option<String> {
    if tool.tool_use().is_hidden_from_models {
        Some(format!(
            "the tool `{name}` is meant for pages, not for models"
        ))
    } else if tool.mirrors_arguments() {
        // Intermediaries base decisions on the headers, which a client sends only for a tool that it calls directly.
        Some(format!("call the tool `{name}` directly, by its own name"))
    } else {
        None
    }
}

/// The call that the arguments of `call_tool` describe.
struct NamedCall<'m> {
    name: Cow<'m, str>,
    arguments: Cow<'m, str>,
    /// `true` if the arguments were written as a string that contains an object, which some models do.
    is_in_string: bool,
}

impl<'m> NamedCall<'m> {
    /// Parses the arguments of `call_tool`. Returns `None` if they contain a mistake.
    fn read(arguments: &'m str, limits: &ParseLimits) -> Option<Self> {
        let mut name = None;
        let mut inner = Cow::Borrowed("{}");
        let mut is_in_string = false;
        for (member, value) in entries(arguments).ok()? {
            match &*member {
                "name" => name = Some(unquote(value).ok()?),
                "arguments" if value.starts_with('{') => inner = value.into(),
                "arguments" => {
                    inner = unquote(value).ok()?;
                    // The message's limits treated the whole string as a single value.
                    Scan::within(&inner, limits).members(|scan, _| scan.next_value().map(drop))?;
                    entries(&inner).ok()?;
                    is_in_string = true;
                }
                _ => return None,
            }
        }
        Some(Self {
            name: name?,
            arguments: inner,
            is_in_string,
        })
    }
}

/// The input schema of `search_tools`, without the maximum and the default of `limit`.
const SEARCH_INPUT: &str = r#"{
    "type": "object",
    "properties": {
        "query": {
            "type": "string",
            "description": "A short description of what the tool should do, or its name",
            "maxLength": 500
        },
        "limit": {
            "type": "integer",
            "description": "The maximum number of tools to return",
            "minimum": 1
        }
    },
    "required": ["query"],
    "additionalProperties": false
}"#;

/// The output schema of `search_tools`.
const FOUND: &str = r#"{
    "type": "object",
    "properties": {
        "tools": {
            "type": "array",
            "description": "The tools, best first",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "title": {"type": "string"},
                    "description": {"type": "string"},
                    "inputSchema": {"type": "object"}
                },
                "required": ["name", "inputSchema"]
            }
        }
    },
    "required": ["tools"]
}"#;

/// The input schema of `call_tool`.
const CALL_INPUT: &str = r#"{
    "type": "object",
    "properties": {
        "name": {
            "type": "string",
            "description": "The name of the tool, as `search_tools` returns it",
            "maxLength": 128
        },
        "arguments": {
            "type": "object",
            "description": "The arguments, as the tool's `inputSchema` describes them"
        }
    },
    "required": ["name"],
    "additionalProperties": false
}"#;

fn search_tool(options: &ToolSearch, registry: &Arc<SearchedRegistry>) -> DynamicTool {
    let (registry, max_results) = (Arc::clone(registry), options.max_results);
    let mut input = constant(SEARCH_INPUT);
    let limit = &mut input["properties"]["limit"];
    limit["maximum"] = max_results.into();
    limit["default"] = max_results.into();
    let found = constant(FOUND);
    let search = move |arguments: Arguments, context: Context| {
        let registry = Arc::clone(&registry);
        async move {
            let query: String = arguments.get("query")?;
            let limit = arguments.0.get("limit").and_then(Value::as_u64);
            let limit = limit.unwrap_or_else(|| max_results.into());
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            let snapshot = registry.snapshot()?;
            let (caller, selection) = context.viewer();
            let view = snapshot.seen_by(caller).narrowed_to(selection);
            let found = registry.search(&snapshot, view, &query);
            let found = found
                .iter()
                .filter(|tool| !tool.tool_use().is_hidden_from_models);
            let found = found.take(limit).filter_map(|tool| describe(tool));
            Ok::<_, HandlerError>(Json(json!({"tools": found.collect::<Vec<_>>()})))
        }
    };
    DynamicTool::new(ToolSearch::SEARCH, input, search)
        .description(
            "Searches the tools of this server, most of which are not listed, and returns the best matches with the schemas of \
             their arguments. Call them with `call_tool`.",
        )
        .output_schema(found)
        .read_only(true)
        .open_world(false)
}

/// Returns the data that a model needs in order to call a tool.
fn describe(tool: &Callable) -> Option<Value> {
    let tool = tool.as_tool()?;
    let mut described = json!({"name": tool.name});
    if let Some(title) = &tool.title {
        described["title"] = json!(title);
    }
    if let Some(description) = &tool.description {
        described["description"] = json!(description);
    }
    described["inputSchema"] = serde_json::from_str(tool.input_schema.get()).ok()?;
    Some(described)
}

/// Creates the `call_tool` tool, whose handler explains why a call through it is not possible.
fn call_tool(registry: &Arc<SearchedRegistry>) -> DynamicTool {
    let registry = Arc::clone(registry);
    let input = constant(CALL_INPUT);
    let call = move |arguments: Arguments, context: Context| {
        let registry = Arc::clone(&registry);
        async move {
            let name: String = arguments.get("name")?;
            let snapshot = registry.snapshot()?;
            let (caller, selection) = context.viewer();
            let problem = match snapshot.seen_by(caller).narrowed_to(selection).tool(&name) {
                Err(unknown) => unknown.message,
                Ok(tool) => refusal(tool, &name).unwrap_or_else(|| {
                    // The tool must have been inserted in the meantime.
                    "try again".to_owned()
                }),
            };
            let text = format!("{problem} (find tools with `{}`)", ToolSearch::SEARCH);
            Err::<String, _>(HandlerError::exposed(text))
        }
    };
    DynamicTool::new(ToolSearch::CALL, input, call)
        .description("Calls a tool of this server that `search_tools` has found.")
}
