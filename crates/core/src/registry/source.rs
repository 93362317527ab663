//! Sources of tools besides the registry: what lists, resolves and reserves names at run time. The registry's
//! definitions come first; `dispatch` asks the sources for what the registry does not have.
//!
//! The framework's own sources (tool search, kept results, jobs) are asked while a request is decided, because they
//! answer without waiting and are no user code. Authors' sources are asked inside the call.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, Weak};

use crate::context::{Caller, RequestInfo, ServerHandle};
use crate::error::{Error, ErrorKind};
use crate::handler::dynamic::DynamicTool;
use crate::handler::handler_error::Result;
use crate::handler::listing::Page;
use crate::protocol::ProtocolVersion;
use crate::registry::callable::{Callable, push_item};
use crate::registry::declared::{NameReservation, ServerRules};
use crate::registry::dynamic::{sourced_tool, tool_callable};
use crate::registry::snapshot::CallerView;
use crate::spawn;
use crate::sync::lock;
use crate::types::ClientCapabilities;

/// A source of tools that a server asks whenever a client lists or calls tools: the rows of a table, the operations of
/// a document, the tools of another server. Added with `Server::tool_source`.
///
/// Use a source if the tools depend on the caller, are too many to insert, or live elsewhere. Tools that are the same
/// for all callers are simpler to insert with [`ServerHandle::tools`](crate::context::ServerHandle::tools).
///
/// ```
/// use mcp_runtime::Caller;
/// use mcp_runtime::dynamic::{Arguments, DynamicTool};
/// use mcp_runtime::handler::Page;
/// use mcp_runtime::prelude::*;
/// use mcp_runtime::serde_json::json;
/// use mcp_runtime::extension::{SourceAnswer, SourceRequest, SourceTool, ToolSource};
///
/// /// A tool for each of the caller's lamps.
/// struct Lamps;
///
/// fn lamps_of(caller: &Caller) -> &'static [&'static str] {
///     if caller.is_trusted() { &["lamp_desk", "lamp_hall"] } else { &["lamp_hall"] }
/// }
///
/// fn lamp(name: &str) -> SourceTool {
///     let switch = async |_: Arguments, _: Context| "switched";
///     DynamicTool::new(name, json!({"type": "object", "properties": {}}), switch).into()
/// }
///
/// impl ToolSource for Lamps {
///     fn name(&self) -> &str {
///         "lamps"
///     }
///
///     fn list(&self, request: &SourceRequest<'_>, _: Option<&str>) -> SourceAnswer<Page<SourceTool>> {
///         let lamps = lamps_of(request.caller()).iter().copied();
///         SourceAnswer::ready(Page::new(lamps.map(lamp).collect::<Vec<_>>()))
///     }
///
///     fn resolve(&self, request: &SourceRequest<'_>, name: &str) -> SourceAnswer<Option<SourceTool>> {
///         let is_there = lamps_of(request.caller()).contains(&name);
///         SourceAnswer::ready(is_there.then(|| lamp(name)))
///     }
/// }
///
/// let server = new_server!().tool_source(Lamps);
/// ```
///
/// | What | Rule |
/// |---|---|
/// | order | the server's own tools come first, then those of each source, in the order in which the sources were added |
/// | names | a name that the server itself has is never asked of a source; of two sources that have a name, the first wins, unless one of them [reserves](Self::reserves) it |
/// | access | a source gives a caller only what the caller may see; scopes and `visible_if` of the tools apply in addition, and so do tags |
/// | time | list requests and calls have [`limits.calls.timeout`](crate::limits::Limits) for sources and tool together, except that a tool found without waiting has its own `timeout` |
/// | cancellation | if a request is cancelled, the future of the answer is dropped |
/// | failure | an error or panic fails the request that asked, and no other; its source is named in the log |
/// | not possible | tools with `rate`, an option of an add-on (such as `task`), or arguments mirrored in headers: they are left out of lists and cannot be called, which is logged |
///
/// This trait is open: methods that are added later will have defaults.
pub trait ToolSource: Send + Sync + 'static {
    /// Returns the name of the source, for the log and for messages. Start-up fails if it is empty or if two sources have
    /// the same name. It is read once, and models may see it.
    fn name(&self) -> &str;

    /// Returns a page of the tools that the caller may see: the first page, or the page at a `cursor` that this method
    /// returned. Clients hold cursors in sealed form, so only the same caller can send one, unchanged; it can be old.
    ///
    /// A cursor has at most 512 bytes. Pages may be empty, but after 64 empty pages in a row the request fails.
    fn list(
        &self,
        request: &SourceRequest<'_>,
        cursor: Option<&str>,
    ) -> SourceAnswer<Page<SourceTool>>;

    /// Returns the tool with this name, which the client chose, or `None` if the caller may not see such a tool. The
    /// tool does not have to be in the list, which may also have changed since the client read it.
    fn resolve(&self, request: &SourceRequest<'_>, name: &str) -> SourceAnswer<Option<SourceTool>>;

    /// Reserves a name for this source, for example all names with a prefix: nothing else on the server can have it.
    /// Returns the reason, with advice, for the author of another tool with this name: such a tool is refused when the
    /// server starts or the tool is inserted. By default, no name is reserved.
    ///
    /// Called for each tool that is declared, inserted or listed, so it must not block.
    fn reserves(&self, name: &str) -> Option<String> {
        let _ = name;
        None
    }

    /// Called once, when the server starts. A source whose list changes keeps the handle, or watches for changes in a
    /// [spawned](ServerHandle::spawn) future, and tells clients with
    /// [`server.notify().tools_changed()`](crate::context::Notifier::tools_changed). By default, the list is not announced.
    fn start(&self, server: &ServerHandle) {
        let _ = server;
    }
}

/// The answer of a source: at hand, or a future.
///
/// An answer at hand costs nothing more. A future can wait for as long as the request may take; it owns what it needs,
/// and is dropped if the request is cancelled.
pub struct SourceAnswer<T>(AnswerState<T>);

enum AnswerState<T> {
    Ready(Result<T>),
    Later(Pin<Box<dyn Future<Output = Result<T>> + Send>>),
}

impl<T> SourceAnswer<T> {
    /// Answers now.
    #[must_use]
    pub const fn ready(value: T) -> Self {
        Self(AnswerState::Ready(Ok(value)))
    }

    /// Answers once the future has ended. An error fails the request that asked.
    pub fn later(future: impl Future<Output = Result<T>> + Send + 'static) -> Self {
        Self(AnswerState::Later(Box::pin(future)))
    }

    /// Returns the answer, or `None` if it is not at hand.
    pub(crate) fn at_hand(self) -> Option<Result<T>> {
        match self.0 {
            AnswerState::Ready(answer) => Some(answer),
            AnswerState::Later(_) => None,
        }
    }

    /// Waits for the answer. A panic becomes `Err` with its message.
    pub(crate) async fn wait(self) -> std::result::Result<Result<T>, String> {
        let mut future = match self.0 {
            AnswerState::Ready(answer) => return Ok(answer),
            AnswerState::Later(future) => future,
        };
        let polled =
            std::future::poll_fn(|task| match spawn::catch(|| future.as_mut().poll(task)) {
                Ok(polled) => polled.map(Ok),
                Err(panic) => std::task::Poll::Ready(Err(panic)),
            });
        polled.await
    }
}

/// An error fails the request that asked.
impl<T> From<Result<T>> for SourceAnswer<T> {
    fn from(answer: Result<T>) -> Self {
        Self(AnswerState::Ready(answer))
    }
}

impl<T> fmt::Debug for SourceAnswer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            AnswerState::Ready(Ok(_)) => "Ready",
            AnswerState::Ready(Err(_)) => "Failed",
            AnswerState::Later(_) => "Later",
        })
    }
}

/// The request for which a source is asked.
#[derive(Clone, Copy)]
pub struct SourceRequest<'a> {
    view: CallerView<'a>,
    info: &'a RequestInfo,
    capabilities: &'a dyn Fn() -> Arc<ClientCapabilities>,
}

impl<'a> SourceRequest<'a> {
    pub(crate) const fn new(
        view: CallerView<'a>,
        info: &'a RequestInfo,
        capabilities: &'a dyn Fn() -> Arc<ClientCapabilities>,
    ) -> Self {
        Self {
            view,
            info,
            capabilities,
        }
    }

    /// Returns the caller, whose principal and scopes decide what it may see.
    #[must_use]
    pub fn caller(&self) -> &'a Caller {
        self.view.caller()
    }

    /// Returns the request: its protocol version and, over HTTP, its headers and addresses.
    #[must_use]
    pub const fn info(&self) -> &'a RequestInfo {
        self.info
    }

    /// Returns the capabilities that the client declares.
    #[must_use]
    pub fn client_capabilities(&self) -> Arc<ClientCapabilities> {
        (self.capabilities)()
    }

    /// Returns the definitions of the registry that the request may see.
    #[doc(hidden)]
    #[must_use]
    pub const fn view(&self) -> CallerView<'a> {
        self.view
    }
}

impl fmt::Debug for SourceRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourceRequest")
            .field("caller", self.caller())
            .finish_non_exhaustive()
    }
}

/// A tool of a source, made from a [`DynamicTool`]. Cheap to clone.
///
/// The definition is checked when it is first listed or called, with the rules of the server, such as the scopes that a
/// tag requires. The result is kept: a source that keeps its tools, rather than making them for each request, has them
/// checked and written as JSON only once, and their `concurrency` counts all calls. A tool serves one server.
#[derive(Clone)]
pub struct SourceTool(Arc<SourceToolState>);

struct SourceToolState {
    name: Box<str>,
    /// The definition, until it is first used.
    definition: Mutex<Option<DynamicTool>>,
    checked: OnceLock<std::result::Result<CheckedTool, String>>,
}

/// A definition that has been checked.
struct CheckedTool {
    callable: Arc<Callable>,
    /// The rules with which it was checked, or `None` for the framework's tools, to which none apply.
    rules: Option<Weak<ServerRules>>,
    /// The list item for each protocol version.
    rendered: [OnceLock<Box<str>>; ProtocolVersion::ALL.len()],
}

impl From<DynamicTool> for SourceTool {
    fn from(definition: DynamicTool) -> Self {
        Self::new(Some(definition), OnceLock::new())
    }
}

impl SourceTool {
    fn new(
        definition: Option<DynamicTool>,
        checked: OnceLock<std::result::Result<CheckedTool, String>>,
    ) -> Self {
        let name = definition.as_ref().map(|made| made.name.as_str());
        let of_checked = checked.get().and_then(|checked| checked.as_ref().ok());
        let name = name.or_else(|| of_checked.map(|checked| &*checked.callable.name));
        Self(Arc::new(SourceToolState {
            name: name.unwrap_or_default().into(),
            definition: Mutex::new(definition),
            checked,
        }))
    }

    /// Makes a tool of the framework.
    ///
    /// # Errors
    ///
    /// Returns all problems with the definition.
    #[doc(hidden)]
    pub fn built_in(definition: DynamicTool) -> std::result::Result<Self, Error> {
        let callable = tool_callable(definition)
            .map_err(|problem| Error::new(ErrorKind::Configuration, problem))?;
        let checked = CheckedTool::new(callable, None);
        Ok(Self::new(None, OnceLock::from(Ok(checked))))
    }

    /// Returns the name of the tool.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the callable of a tool of the framework.
    #[doc(hidden)]
    #[must_use]
    pub fn built_in_callable(&self) -> Option<&Arc<Callable>> {
        let checked = self.0.checked.get()?.as_ref().ok()?;
        Some(&checked.callable)
    }

    /// Checks the definition with the rules of a server and returns its callable.
    ///
    /// # Errors
    ///
    /// Returns all problems with the definition, on one line.
    pub(crate) fn callable(
        &self,
        rules: &Arc<ServerRules>,
    ) -> std::result::Result<&Arc<Callable>, String> {
        let checked = self.0.checked.get_or_init(|| {
            let definition = lock(&self.0.definition).take();
            let definition = definition.ok_or("its definition is gone")?;
            let callable = sourced_tool(definition, rules)?;
            Ok(CheckedTool::new(callable, Some(Arc::downgrade(rules))))
        });
        let checked = checked.as_ref().map_err(String::clone)?;
        match &checked.rules {
            Some(other) if !std::ptr::eq(other.as_ptr(), Arc::as_ptr(rules)) => {
                Err("it belongs to another server; make a tool for each".to_owned())
            }
            _ => Ok(&checked.callable),
        }
    }

    /// Appends the tool to a JSON array under construction, unless it has not been checked.
    pub(crate) fn append_to(&self, items: &mut String, version: ProtocolVersion) {
        let Some(Ok(checked)) = self.0.checked.get() else {
            return;
        };
        let Some(rendered) = checked.rendered.get(version as usize) else {
            return;
        };
        let item = rendered.get_or_init(|| {
            let mut item = String::new();
            checked.callable.append_list_item(&mut item, version);
            item.into()
        });
        push_item(items, item);
    }
}

impl CheckedTool {
    fn new(callable: Callable, rules: Option<Weak<ServerRules>>) -> Self {
        Self {
            callable: Arc::new(callable),
            rules,
            rendered: Default::default(),
        }
    }
}

impl fmt::Debug for SourceTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SourceTool").field(&self.name()).finish()
    }
}

/// A source and its name, which was read at start-up.
#[derive(Clone)]
pub(crate) struct NamedSource {
    pub(crate) name: Arc<str>,
    pub(crate) source: Arc<dyn ToolSource>,
}

impl NamedSource {
    /// Returns what the source reserves. It is held weakly, because it may hold the server's handle, and with it the
    /// registry.
    pub(crate) fn reservation(&self) -> NameReservation {
        let source = Arc::downgrade(&self.source);
        NameReservation {
            source: Arc::clone(&self.name),
            reserves: Arc::new(move |name| source.upgrade()?.reserves(name)),
        }
    }
}
