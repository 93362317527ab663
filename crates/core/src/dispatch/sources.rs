//! The sources that requests are asked of besides the registry: the framework's own, which answer while a request is
//! decided, and those of the author, which are asked inside the call.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock};

use crate::context::{Context, ServerHandle};
use crate::error::{Error, ErrorKind};
use crate::extension::Extension;
use crate::handler::dynamic::DynamicTemplate;
use crate::handler::handler_error::{HandlerError, HandlerErrorRepr, Result};
use crate::handler::listing::Page;
use crate::handler::middleware::Rewrites;
use crate::handler::option::{AddOn, OptionTools};
use crate::jsonrpc::{ErrorObject, ParseLimits};
use crate::protocol::ProtocolVersion;
use crate::registry::{
    Callable, CallerView, CursorSeal, MAX_LISTER_CURSOR_BYTES, NameReservation, NamedSource,
    PageWalk, Registry, ServerRules, Snapshot, SourceAnswer, SourceRequest, SourceTool, ToolSource,
    built_in_template, source_cursor, with_origin,
};
use crate::spawn;
use crate::sync::lock;

/// A server's sources.
#[derive(Default)]
pub struct ServerSources {
    cover: Option<Arc<dyn CoveringSource>>,
    /// The framework's other sources of tools, whose tools end the first page of a list.
    built_in: Vec<Arc<dyn ToolSource>>,
    /// The sources of the author, which are asked last.
    of_authors: Vec<NamedSource>,
    /// The same sources, once they can be asked. `None` if there are none.
    authors: Option<Arc<AuthorSources>>,
    /// Resources of the framework that no list contains.
    templates: Vec<Arc<Callable>>,
}

/// A source of the framework through which a model reaches the tools of the registry, most of which need not be listed
/// then.
pub trait CoveringSource: ToolSource {
    /// Prepares the source for the registry that it covers.
    ///
    /// # Errors
    ///
    /// Fails if the settings of the source do not fit the registry.
    fn attach(&self, registry: &Arc<Registry>) -> Result<(), Error>;

    /// Returns `true` if the source's tools are listed instead of those of the registry.
    fn covers(&self, view: CallerView<'_>) -> bool;

    /// Returns `true` for tools of the registry that are listed even then.
    fn keeps(&self, tool: &Callable) -> bool;

    /// Returns the tool to call, with its arguments, for the name of one of the source's tools. JSON inside strings must
    /// not exceed the message `limits`.
    ///
    /// # Errors
    ///
    /// Returns an error if the caller lacks scopes required by the tool to be called.
    fn target<'m>(
        &self,
        name: &str,
        arguments: &'m str,
        view: CallerView<'_>,
        limits: &ParseLimits,
    ) -> Result<(Arc<Callable>, Cow<'m, str>), ErrorObject>;
}

/// The tools of an add-on.
struct BuiltInTools {
    added: OptionTools,
    tools: Vec<SourceTool>,
}

impl BuiltInTools {
    fn are_for(&self, request: &SourceRequest<'_>) -> bool {
        let OptionTools {
            is_option, is_for, ..
        } = self.added;
        is_for(request.info(), &request.client_capabilities())
            && request.view().has_tool_with(is_option)
    }
}

impl ToolSource for BuiltInTools {
    fn name(&self) -> &str {
        self.added.name
    }

    fn list(
        &self,
        request: &SourceRequest<'_>,
        _cursor: Option<&str>,
    ) -> SourceAnswer<Page<SourceTool>> {
        let tools: &[_] = if self.are_for(request) {
            &self.tools
        } else {
            &[]
        };
        SourceAnswer::ready(Page::new(tools))
    }

    fn resolve(&self, request: &SourceRequest<'_>, name: &str) -> SourceAnswer<Option<SourceTool>> {
        let tool = self.tools.iter().find(|tool| tool.name() == name);
        let tool = tool.filter(|_| self.are_for(request));
        SourceAnswer::ready(tool.cloned())
    }

    fn reserves(&self, name: &str) -> Option<String> {
        let mut tools = self.tools.iter();
        tools
            .any(|tool| tool.name() == name)
            .then(|| self.added.reason.to_owned())
    }
}

impl ServerSources {
    pub fn set_cover(&mut self, source: Arc<dyn CoveringSource>) {
        self.cover = Some(source);
    }

    /// Adds the tools and the resources that an add-on has added to the server.
    ///
    /// # Errors
    ///
    /// Fails if a definition is invalid.
    pub fn add_of_add_ons(
        &mut self,
        tools: Vec<OptionTools>,
        templates: Vec<DynamicTemplate>,
    ) -> Result<(), Error> {
        for mut added in tools {
            let tools = std::mem::take(&mut added.tools).into_iter();
            let tools = tools.map(SourceTool::built_in).collect::<Result<_, _>>()?;
            self.built_in.push(Arc::new(BuiltInTools { added, tools }));
        }
        for template in templates {
            let template = built_in_template(template)
                .map_err(|problem| Error::new(ErrorKind::Configuration, problem))?;
            self.templates.push(Arc::new(template));
        }
        Ok(())
    }

    /// Adds the sources of the author, in order.
    ///
    /// # Errors
    ///
    /// Returns each problem with their names.
    pub fn add_of_authors(&mut self, added: Vec<Arc<dyn ToolSource>>) -> Vec<String> {
        let mut problems = Vec::new();
        for source in added {
            let name: Arc<str> = match spawn::catch(|| Arc::from(source.name())) {
                Ok(name) => name,
                Err(panic) => {
                    problems.push(format!("a tool source panicked in `name`: {panic}"));
                    continue;
                }
            };
            let is_taken = self.all().any(|other| other.name == name);
            if name.is_empty() {
                problems.push("the name of a tool source is empty".to_owned());
            } else if is_taken {
                problems.push(format!(
                    "two tool sources have the name `{name}`; give each its own"
                ));
            }
            self.of_authors.push(NamedSource { name, source });
        }
        problems
    }

    /// Starts the sources of the author.
    ///
    /// # Errors
    ///
    /// Fails if a source panics.
    pub fn start(
        &mut self,
        server: &ServerHandle,
        (registry, rules): (&Arc<Registry>, &Arc<ServerRules>),
        cursors: &Arc<dyn CursorSeal>,
    ) -> Result<(), Error> {
        self.authors = (!self.of_authors.is_empty()).then(|| {
            Arc::new(AuthorSources {
                sources: self.of_authors.clone(),
                registry: Arc::clone(registry),
                rules: Arc::clone(rules),
                cursors: Arc::clone(cursors),
            })
        });
        for named in &self.of_authors {
            spawn::catch(|| named.source.start(server)).map_err(|panic| {
                let problem = format!("the tool source `{}` panicked: {panic}", named.name);
                Error::new(ErrorKind::Configuration, problem)
            })?;
        }
        Ok(())
    }

    /// Returns the names that the sources reserve.
    #[must_use]
    pub fn reservations(&self) -> Vec<NameReservation> {
        self.all().map(|named| named.reservation()).collect()
    }

    /// Returns all sources of tools.
    fn all(&self) -> impl Iterator<Item = NamedSource> {
        let built_in = self.built_in().map(|source| NamedSource {
            name: source.name().into(),
            source,
        });
        built_in.chain(self.of_authors.iter().cloned())
    }

    /// Returns the sources of the author, if there are any. They are user code.
    pub(super) fn of_authors(&self) -> Option<&Arc<AuthorSources>> {
        self.authors.as_ref()
    }

    /// Prepares the sources for the registry.
    ///
    /// # Errors
    ///
    /// Fails if the settings of a source do not fit the registry.
    pub fn attach(&self, registry: &Arc<Registry>) -> Result<(), Error> {
        self.cover
            .as_ref()
            .map_or(Ok(()), |cover| cover.attach(registry))
    }

    pub(super) fn cover(&self) -> Option<&dyn CoveringSource> {
        self.cover.as_deref()
    }

    /// Returns the framework's tool with this name, if it exists for the request.
    pub(super) fn built_in_tool(
        &self,
        request: &SourceRequest<'_>,
        name: &str,
    ) -> Option<Arc<Callable>> {
        let mut sources = self.built_in.iter();
        let tool = sources.find_map(|source| {
            let answer = source.resolve(request, name).at_hand()?;
            answer.ok().flatten()
        })?;
        tool.built_in_callable().cloned()
    }

    /// Returns `true` if one of the framework's tools has this name, whether or not it exists for a request.
    pub(super) fn have_built_in(&self, name: &str) -> bool {
        self.built_in()
            .any(|source| source.reserves(name).is_some())
    }

    fn built_in(&self) -> impl Iterator<Item = Arc<dyn ToolSource>> {
        let cover = self.cover.iter();
        let cover = cover.map(|cover| Arc::clone(cover) as Arc<dyn ToolSource>);
        cover.chain(self.built_in.iter().cloned())
    }

    /// Returns `true` if all tools are in the registry.
    #[inline]
    pub(super) fn have_no_tools(&self) -> bool {
        self.cover.is_none() && self.built_in.is_empty() && self.of_authors.is_empty()
    }

    /// Returns `true` if there are resources besides those of the registry.
    pub(super) fn have_resources(&self) -> bool {
        !self.templates.is_empty()
    }

    /// Returns the resource at a URI in its normal form, and its arguments.
    pub(super) fn resource_at(&self, uri: &str) -> Option<(&Arc<Callable>, String)> {
        let mut templates = self.templates.iter();
        templates.find_map(|template| Some((template, template.arguments_at(uri)?)))
    }

    /// Returns the list entries of the framework's tools that end the first page, separated by commas.
    pub(super) fn last_items(&self, request: &SourceRequest<'_>) -> String {
        let mut items = String::new();
        for source in &self.built_in {
            push_items(&mut items, &listed_items(&**source, request));
        }
        items
    }

    pub(super) fn covering(&self, view: CallerView<'_>) -> Option<&dyn CoveringSource> {
        self.cover.as_deref().filter(|cover| cover.covers(view))
    }
}

/// Returns the list entries of a source of the framework, separated by commas.
pub(super) fn listed_items(
    source: &(impl ToolSource + ?Sized),
    request: &SourceRequest<'_>,
) -> String {
    let mut items = String::new();
    if let Some(Ok(page)) = source.list(request, None).at_hand() {
        for tool in &page.items {
            tool.append_to(&mut items, request.info().protocol_version());
        }
    }
    items
}

/// Appends items, separated by commas.
pub(super) fn push_items(items: &mut String, more: &str) {
    if !items.is_empty() && !more.is_empty() {
        items.push(',');
    }
    items.push_str(more);
}

// --- The sources of authors, which are asked inside a call: they are user code, and may wait.
//
// A tool is resolved before middleware sees the call, so no middleware decides about tools that the caller may not
// use. Panics are caught here, so that the log names the source.

/// The name of the source that is being asked, for the log.
#[derive(Default)]
pub(super) struct AskedSource(Mutex<Option<Arc<str>>>);

impl AskedSource {
    pub(super) fn name(&self) -> Option<Arc<str>> {
        lock(&self.0).clone()
    }

    /// Asks a source on behalf of a call's caller. `doing` describes the question.
    async fn ask<T>(
        &self,
        named: &NamedSource,
        (context, snapshot): (&Context, &Snapshot),
        doing: impl FnOnce() -> String,
        question: impl FnOnce(&dyn ToolSource, &SourceRequest<'_>) -> SourceAnswer<T>,
    ) -> Result<T> {
        *lock(&self.0) = Some(Arc::clone(&named.name));
        let asked = {
            let capabilities = || Arc::new(context.client_capabilities().clone());
            let view = view(context, snapshot);
            let request = SourceRequest::new(view, context.request(), &capabilities);
            spawn::catch(|| question(&*named.source, &request))
        };
        let answer = match asked {
            Ok(answer) => answer.wait().await,
            Err(panic) => Err(panic),
        };
        *lock(&self.0) = None;
        match answer {
            Ok(answer) => answer.map_err(|failure| with_origin(failure, doing())),
            Err(panic) => {
                // Models may be allowed to read causes, but never what a panic says.
                tracing::error!(source = &*named.name, panic, "a tool source panicked");
                let doing = doing();
                Err(HandlerError::opaque(format!("{doing}: it panicked")))
            }
        }
    }
}

/// Returns the definitions of the registry that the caller of a call may see.
fn view<'a>(context: &'a Context, snapshot: &'a Snapshot) -> CallerView<'a> {
    let (caller, selection) = context.viewer();
    snapshot.seen_by(caller).narrowed_to(selection)
}

/// The sources of a server's author, and what decides about their tools.
pub(crate) struct AuthorSources {
    pub(super) sources: Vec<NamedSource>,
    pub(super) registry: Arc<Registry>,
    pub(super) rules: Arc<ServerRules>,
    /// Seals the cursors of lists.
    pub(super) cursors: Arc<dyn CursorSeal>,
}

impl AuthorSources {
    /// Returns `true` if the server's own selection contains a tool of a source.
    fn selects(&self, tool: &Callable) -> bool {
        let selection = self.rules.selection.as_ref();
        selection.is_none_or(|selection| selection.selects(&tool.tags))
    }
}

/// A tool that is neither in the registry nor one of the framework's, so that the author's sources are asked.
pub(super) struct SourcedTarget {
    authors: Arc<AuthorSources>,
    /// The name, as chosen by the client.
    pub(super) name: Arc<str>,
    found: OnceLock<Arc<Callable>>,
    pub(super) asked: AskedSource,
}

impl SourcedTarget {
    pub(super) fn new(authors: &Arc<AuthorSources>, name: &str) -> Self {
        Self {
            authors: Arc::clone(authors),
            name: name.into(),
            found: OnceLock::new(),
            asked: AskedSource::default(),
        }
    }

    /// Returns the tool, once a source has given it.
    pub(super) fn found(&self) -> Option<&Arc<Callable>> {
        self.found.get()
    }

    /// Finds the tool.
    ///
    /// # Errors
    ///
    /// Returns the error for an unknown tool if no source gives the caller a tool with this name, and an error that names
    /// the source if the source fails or gives something else.
    pub(super) async fn find(&self, context: &Context) -> Result<Arc<Callable>> {
        let (authors, name) = (&*self.authors, &*self.name);
        let rules = &authors.rules;
        let snapshot = authors.registry.snapshot();
        for named in &authors.sources {
            // Another source may have reserved the name.
            if rules
                .check_not_reserved_by_others(Some(&named.name), name)
                .is_err()
            {
                continue;
            }
            let doing = || {
                let source = &named.name;
                format!("finding the tool `{name}` in the source `{source}`")
            };
            let question = |source: &dyn ToolSource, request: &SourceRequest<'_>| {
                source.resolve(request, name)
            };
            let asked = self.asked.ask(named, (context, &snapshot), doing, question);
            let Some(tool) = asked.await? else {
                continue;
            };
            if tool.name() != name {
                let other = tool.name();
                let cause = format!("{}: it gave the tool `{other}`", doing());
                return Err(HandlerError::opaque(cause));
            }
            let made = tool.callable(rules);
            let callable =
                made.map_err(|problem| HandlerError::opaque(format!("{}: {problem}", doing())))?;
            if !authors.selects(callable) || !view(context, &snapshot).shows(callable) {
                break;
            }
            let scopes = callable.access.check_scopes(context.caller());
            scopes.map_err(|missing| HandlerError(HandlerErrorRepr::Reauthorize(missing)))?;
            // The value cannot have been set yet: a call looks for its tool once.
            let _ = self.found.set(Arc::clone(callable));
            return Ok(Arc::clone(callable));
        }
        let unknown = view(context, &snapshot).unknown_tool(name);
        Err(HandlerError::protocol(unknown))
    }
}

/// A page of the list of tools that is incomplete until the author's sources have been asked.
pub(super) struct SourcePage {
    pub(super) authors: Arc<AuthorSources>,
    /// The tools already on the page, as comma-separated JSON, and their number.
    pub(super) items: String,
    pub(super) count: usize,
    /// The index of the first source to ask, and the cursor to pass to it.
    pub(super) start: usize,
    pub(super) cursor: Option<String>,
    pub(super) size: usize,
    pub(super) version: ProtocolVersion,
    pub(super) asked: AskedSource,
}

impl SourcePage {
    /// Asks one source after another until the page is full. Returns the JSON text of the page's members.
    ///
    /// # Errors
    ///
    /// Returns an error that names the source if a source fails.
    pub(super) async fn compose(self: Arc<Self>, context: Context) -> Result<String> {
        let snapshot = self.authors.registry.snapshot();
        let (mut items, mut count) = (self.items.clone(), self.count);
        let mut cursor = self.cursor.clone();
        let mut walk = PageWalk::default();
        let mut listed = BTreeSet::new();
        let mut index = self.start;
        while let Some(named) = self.authors.sources.get(index) {
            if count >= self.size {
                return Ok(self.finish(&items, Some((index, cursor)), &context));
            }
            let at = cursor.take();
            let doing = || format!("listing the tools of the source `{}`", named.name);
            let question = |source: &dyn ToolSource, request: &SourceRequest<'_>| {
                source.list(request, at.as_deref())
            };
            let asked = self
                .asked
                .ask(named, (&context, &snapshot), doing, question);
            let page = asked.await?;
            for tool in page.items {
                if self.lists(&tool, named, view(&context, &snapshot), &mut listed) {
                    tool.append_to(&mut items, self.version);
                    count = count.saturating_add(1);
                }
            }
            let Some(next) = page.next else {
                index = index.saturating_add(1);
                continue;
            };
            let progress = walk.step(at.as_deref(), &next, MAX_LISTER_CURSOR_BYTES);
            progress.map_err(|problem| with_origin(HandlerError::opaque(problem), doing()))?;
            if count > 0 {
                return Ok(self.finish(&items, Some((index, Some(next))), &context));
            }
            cursor = Some(next);
        }
        Ok(self.finish(&items, None, &context))
    }

    /// Returns `true` if the caller may see a tool of a source. Logs why a tool cannot be served to anybody.
    fn lists(
        &self,
        tool: &SourceTool,
        named: &NamedSource,
        view: CallerView<'_>,
        listed: &mut BTreeSet<Box<str>>,
    ) -> bool {
        let rules = &self.authors.rules;
        let name = tool.name();
        let problem = if view.has_tool_named(name) {
            "the server has a tool with this name".to_owned()
        } else if let Err(reason) = rules.check_not_reserved_by_others(Some(&named.name), name) {
            reason
        } else {
            match tool.callable(rules) {
                Ok(callable) if !view.permits(callable) || !self.authors.selects(callable) => {
                    return false;
                }
                Ok(_) if listed.insert(name.into()) => return true,
                Ok(_) => "the name is already in the list".to_owned(),
                Err(problem) => problem,
            }
        };
        let source = &*named.name;
        tracing::error!(
            source,
            tool = name,
            problem,
            "a tool of a source was skipped"
        );
        false
    }

    fn finish(
        &self,
        items: &str,
        next: Option<(usize, Option<String>)>,
        context: &Context,
    ) -> String {
        let mut text = format!("\"tools\":[{items}]");
        let at = next.and_then(|(index, cursor)| {
            let named = self.authors.sources.get(index)?;
            Some((index, &*named.name, cursor))
        });
        if let Some(at) = at {
            let cursor = source_cursor(at, context.caller().key(), &*self.authors.cursors);
            text.push_str(",\"nextCursor\":\"");
            text.push_str(&cursor);
            text.push('"');
        }
        text
    }
}

impl ServerAddOn for Extension {
    fn add_to(self, parts: &mut ServerParts) {
        parts.extensions.push(self);
    }
}

/// Something that a server gets as a whole, not by an option of one of its tools: see `Server::with`.
pub trait ServerAddOn {
    /// Adds itself to the server.
    #[doc(hidden)]
    fn add_to(self, parts: &mut ServerParts);
}

/// What a server that is being built has got from [`ServerAddOn`]s, and from settings that need one.
#[doc(hidden)]
#[derive(Default)]
pub struct ServerParts {
    /// The code that is started with the server.
    pub add_ons: Vec<AddOn>,
    /// The source through which models reach the tools of the registry.
    pub cover: Option<CreateCover>,
    /// What changes everything that models read.
    pub rewrites: Rewrites,
    /// Extensions of the protocol.
    pub extensions: Vec<Extension>,
    /// What the instructions say about groups of definitions.
    pub describe_groups: Option<DescribeGroups>,
}

/// Returns what instructions say besides to a caller that sees these definitions, if anything.
pub type RequestInstructions = Box<dyn Fn(CallerView<'_>) -> Option<String> + Send + Sync>;

/// Creates what instructions say about groups of definitions, given their names and descriptions.
#[doc(hidden)]
pub type DescribeGroups = fn(Vec<(String, String)>) -> RequestInstructions;

/// Creates a source that stands for the tools of the registry. A function, so that a program without such a source does
/// not contain its code.
#[doc(hidden)]
pub type CreateCover = Box<dyn FnOnce() -> Result<Arc<dyn CoveringSource>, Error> + Send + Sync>;
