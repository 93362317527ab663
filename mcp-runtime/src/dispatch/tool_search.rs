//! Two tools that replace a long list: one searches for tools, and the other calls a tool found by a search.
//!
//! A call through `call_tool` is first converted into a call to the tool that it names, so it is processed exactly like
//! a direct call.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde_json::{Value, json};

use crate::context::{Capability, Context};
use crate::error::{Error, ErrorKind};
use crate::handler::decode::entries;
use crate::handler::dynamic::{Arguments, DynamicTool};
use crate::handler::handler_error::HandlerError;
use crate::handler::output::Json;
use crate::handler::tool_search::ToolSearch;
use crate::jsonrpc::{ErrorObject, ParseLimits, Scan, unquote};
use crate::protocol::ProtocolVersion;
use crate::registry::{Callable, CallerView, Registry, tool_callable};

/// The two tools and the options for them.
pub(crate) struct SearchTools {
    options: ToolSearch,
    search: Arc<Callable>,
    call: Arc<Callable>,
    /// The list entries for both tools, rendered for each protocol version.
    rendered: [OnceLock<String>; ProtocolVersion::ALL.len()],
}

impl SearchTools {
    /// # Errors
    ///
    /// Fails if a pinned tool does not exist.
    pub(crate) fn new(options: ToolSearch, registry: &Arc<Registry>) -> Result<Self, Error> {
        // A pinned tool that exists but is not selected is omitted.
        let known = registry.snapshot().names(Capability::Tools);
        let unknown = options.pinned.iter().find(|name| !known.contains(name));
        if let Some(name) = unknown {
            let message = format!("the tool `{name}` cannot be pinned, because it does not exist");
            return Err(Error::new(ErrorKind::Configuration, message));
        }
        let made = |made: DynamicTool| {
            let made = tool_callable(made)
                .map_err(|problem| Error::new(ErrorKind::Configuration, problem));
            made.map(Arc::new)
        };
        Ok(Self {
            search: made(search_tool(&options, registry))?,
            call: made(call_tool(registry))?,
            rendered: Default::default(),
            options,
        })
    }

    /// Returns the list that replaces the list of tools. Returns `None` if the request may use so few tools that all of
    /// them are listed.
    pub(super) fn page(&self, view: CallerView<'_>, version: ProtocolVersion) -> Option<Bytes> {
        let first = self.listed(view, version)?;
        let pinned = &self.options.pinned;
        let is_listed = |tool: &Callable| {
            pinned.iter().any(|name| **name == *tool.name) || is_listed_for_clients(tool)
        };
        Some(view.short_tool_page(first, is_listed, version))
    }

    /// Returns the list entries for the two tools, separated by a comma. Returns `None` if the request may use so few
    /// tools that all of them are listed instead of these two.
    pub(super) fn listed(&self, view: CallerView<'_>, version: ProtocolVersion) -> Option<&str> {
        if !view.has_more_tools_than(self.options.above) {
            return None;
        }
        let rendered = self.rendered.get(version as usize)?;
        Some(rendered.get_or_init(|| {
            let mut text = String::new();
            self.search.append_list_item(&mut text, version);
            self.call.append_list_item(&mut text, version);
            text
        }))
    }

    /// Returns the tool to call, with its arguments, for the name of one of the two tools. JSON inside strings must not
    /// exceed the message `limits`.
    ///
    /// # Errors
    ///
    /// Returns an error if the caller lacks scopes required by the tool to be called.
    pub(super) fn resolve<'m>(
        &self,
        name: &str,
        arguments: &'m str,
        view: CallerView<'_>,
        limits: &ParseLimits,
    ) -> Result<(Arc<Callable>, Cow<'m, str>), ErrorObject> {
        if name == ToolSearch::SEARCH {
            return Ok((Arc::clone(&self.search), arguments.into()));
        }
        if let Some(call) = NamedCall::read(arguments, limits)
            && let Some(tool) = view.visible_tool(&call.name)?
            && refusal(tool, &call.name).is_none()
            && !(call.is_in_string && tool.is_strict())
        {
            return Ok((Arc::clone(tool), call.arguments));
        }
        // If the named tool cannot be called, `call_tool` itself runs and explains the problem to the model.
        Ok((Arc::clone(&self.call), arguments.into()))
    }
}

/// Returns `true` for tools whose definitions must be in the list that clients receive, because the list tells hosts
/// which page belongs to a tool, which tools are not for models, which calls must be run as tasks, and which arguments
/// to repeat in headers.
fn is_listed_for_clients(tool: &Callable) -> bool {
    tool.page_uri().is_some()
        || tool.is_for_pages_only()
        || tool.task.as_ref().is_some_and(|task| task.is_required)
        || tool.mirrors_arguments()
}

/// Returns the reason why a tool cannot be called through `call_tool`, or `None` if it can.
fn refusal(tool: &Callable, name: &str) -> Option<String> {
    if tool.is_for_pages_only() {
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

fn search_tool(options: &ToolSearch, registry: &Arc<Registry>) -> DynamicTool {
    let (registry, max_results) = (Arc::clone(registry), options.max_results);
    let input = json!({
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "description": "A short description of what the tool should do, or its name",
                "maxLength": 500,
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
