//! Two tools that stand for many: one searches for tools, the other calls a tool that was found.
//!
//! A call through `call_tool` becomes a call of the tool that it names before anything else happens, so it goes through
//! everything that a direct call goes through.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::context::{Capability, Context};
use crate::error::{Error, ErrorKind};
use crate::handler::decode::entries;
use crate::handler::dynamic::{Arguments, DynamicTool};
use crate::handler::handler_error::HandlerError;
use crate::handler::output::Json;
use crate::handler::tool_search::ToolSearch;
use crate::jsonrpc::{ErrorObject, unquote};
use crate::protocol::{ProtocolVersion, errors};
use crate::registry::{Callable, CallerView, Registry, tool};

/// The two tools and the options for them.
pub(crate) struct SearchTools {
    options: ToolSearch,
    search: Arc<Callable>,
    call: Arc<Callable>,
}

impl SearchTools {
    /// # Errors
    ///
    /// Fails if a pinned tool does not exist.
    pub(crate) fn new(options: ToolSearch, registry: &Arc<Registry>) -> Result<Self, Error> {
        // A pinned tool that is not selected is simply not there.
        let known = registry.snapshot().names(Capability::Tools);
        let unknown = options.pinned.iter().find(|name| !known.contains(name));
        if let Some(name) = unknown {
            let message = format!("there is no tool `{name}` to pin");
            return Err(Error::new(ErrorKind::Configuration, message));
        }
        let made = |made: DynamicTool| {
            let made = tool(made).map_err(|problem| Error::new(ErrorKind::Configuration, problem));
            made.map(Arc::new)
        };
        Ok(Self {
            search: made(search_tool(&options, registry))?,
            call: made(call_tool(registry))?,
            options,
        })
    }

    /// Returns the list that replaces the list of tools. Returns `None` if the request could use only so many tools that
    /// they are all listed.
    pub(super) fn page(&self, view: CallerView<'_>, version: ProtocolVersion) -> Option<Bytes> {
        if !view.has_more_tools_than(self.options.above) {
            return None;
        }
        let pinned = &self.options.pinned;
        // Hosts read in the list which page belongs to a tool, and which tools are not for models.
        let is_pinned = |tool: &Callable| {
            pinned.iter().any(|name| **name == *tool.name)
                || tool.page_uri().is_some()
                || tool.is_for_pages_only()
        };
        Some(view.short_tool_page(self.callables(), is_pinned, version))
    }

    /// Returns the two tools.
    pub(super) fn callables(&self) -> [&Callable; 2] {
        [&self.search, &self.call]
    }

    /// Returns the tool to call, with its arguments, for a name that is not the name of a tool that the request may use.
    ///
    /// # Errors
    ///
    /// Returns `unknown` if this is not one of the two tools, or an error if the caller lacks scopes for the tool that is
    /// to be called.
    pub(super) fn resolve<'m>(
        &self,
        name: &str,
        arguments: &'m str,
        view: CallerView<'_>,
        unknown: ErrorObject,
    ) -> Result<(Arc<Callable>, Cow<'m, str>), ErrorObject> {
        if name == ToolSearch::SEARCH {
            return Ok((Arc::clone(&self.search), arguments.into()));
        }
        if name != ToolSearch::CALL {
            return Err(unknown);
        }
        // Anything that cannot be called is left to the tool itself, which explains it to the model.
        let Some((name, inner)) = read_call(arguments) else {
            return Ok((Arc::clone(&self.call), arguments.into()));
        };
        match view.tool(&name) {
            Ok(tool) if !tool.is_for_pages_only() => Ok((Arc::clone(tool), inner)),
            Err(error) if errors::scopes_needed(&error).is_some() => Err(error),
            _ => Ok((Arc::clone(&self.call), arguments.into())),
        }
    }
}

/// Returns the name and the arguments of the tool to call, unless there is a mistake.
fn read_call(arguments: &str) -> Option<(Cow<'_, str>, Cow<'_, str>)> {
    let (mut name, mut inner) = (None, Cow::Borrowed("{}"));
    for (member, value) in entries(arguments).ok()? {
        match &*member {
            "name" => name = Some(unquote(value).ok()?),
            "arguments" if value.starts_with('{') => inner = value.into(),
            // Some models write objects as strings.
            "arguments" => {
                inner = unquote(value).ok()?;
                entries(&inner).ok()?;
            }
            _ => return None,
        }
    }
    Some((name?, inner))
}

fn search_tool(options: &ToolSearch, registry: &Arc<Registry>) -> DynamicTool {
    let (registry, max_results) = (Arc::clone(registry), options.max_results);
    let input = json!({
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "description": "What the tool should do, in a few words, or its name",
            },
            "limit": {
                "type": "integer",
                "description": "The maximum number of tools to return",
                "minimum": 1,
                "maximum": max_results,
                "default": max_results,
            },
        },
        "required": ["query"],
        "additionalProperties": false,
    });
    let found = json!({
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
                        "inputSchema": {"type": "object"},
                    },
                    "required": ["name", "inputSchema"],
                },
            },
        },
        "required": ["tools"],
    });
    let search = move |arguments: Arguments, context: Context| {
        let registry = Arc::clone(&registry);
        async move {
            let query: String = arguments.get("query")?;
            let limit = arguments.0.get("limit").and_then(Value::as_u64);
            let limit = limit.unwrap_or_else(|| max_results.into());
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            let snapshot = registry.snapshot();
            let (caller, selection) = context.viewer();
            let view = snapshot.seen_by(caller).narrowed_to(selection);
            let found = view.search_tools(&query);
            let found = found.iter().filter(|tool| !tool.is_for_pages_only());
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

/// Returns what a model needs to call a tool.
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

/// Returns the tool that explains why a call through it is not possible.
fn call_tool(registry: &Arc<Registry>) -> DynamicTool {
    let registry = Arc::clone(registry);
    let input = json!({
        "type": "object",
        "properties": {
            "name": {
                "type": "string",
                "description": "The name of the tool, as `search_tools` returns it",
                "maxLength": 128,
            },
            "arguments": {
                "type": "object",
                "description": "The arguments, as the tool's `inputSchema` describes them",
            },
        },
        "required": ["name"],
        "additionalProperties": false,
    });
    let call = move |arguments: Arguments, context: Context| {
        let registry = Arc::clone(&registry);
        async move {
            let name: String = arguments.get("name")?;
            let snapshot = registry.snapshot();
            let (caller, selection) = context.viewer();
            let problem = match snapshot.seen_by(caller).narrowed_to(selection).tool(&name) {
                Err(unknown) => unknown.message,
                Ok(tool) if tool.is_for_pages_only() => {
                    format!("the tool `{name}` is for pages, not for models")
                }
                // It was inserted a moment ago.
                Ok(_) => "try again".to_owned(),
            };
            let text = format!("{problem} (find tools with `{}`)", ToolSearch::SEARCH);
            Err::<String, _>(HandlerError::exposed(text))
        }
    };
    DynamicTool::new(ToolSearch::CALL, input, call)
        .description("Calls a tool of this server that `search_tools` has found.")
}
