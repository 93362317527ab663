//! The sources of authors, which are asked inside a call: they are user code, and may wait.
//!
//! A tool is resolved before middleware sees the call, so no middleware decides about tools that the caller may not
//! use. Panics are caught here, so that the log names the source.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock};

use crate::context::Context;
use crate::handler::handler_error::{HandlerError, HandlerErrorRepr, Result};
use crate::lock::lock;
use crate::panics;
use crate::protocol::ProtocolVersion;
use crate::registry::{
    Callable, CallerView, CursorSeal, MAX_LISTER_CURSOR_BYTES, NamedSource, PageWalk, Registry,
    ServerRules, Snapshot, SourceAnswer, SourceRequest, SourceTool, ToolSource, source_cursor,
    with_origin,
};

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
            panics::catch(|| question(&*named.source, &request))
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
            if rules.check_name_for(Some(&named.name), name).is_err() {
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
        } else if let Err(reason) = rules.check_name_for(Some(&named.name), name) {
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
