//! The sources that requests are asked of besides the registry: the framework's own, which answer while a request is
//! decided, and those of the author, which `sourced` asks inside the call.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;

use crate::context::{Capability, RequestInfo, RequestSource};
use crate::dispatch::Dispatcher;
use crate::dispatch::request::Request;
use crate::dispatch::target::CallTarget;
use crate::jsonrpc::{ErrorObject, ParseLimits};
use crate::protocol::errors;
use crate::registry::{
    Callable, CallerView, ListPage, NameReservations, NamedSource, SourceRequest, ToolSource,
};

/// A server's sources.
#[derive(Default)]
pub(crate) struct ServerSources {
    cover: Option<Arc<dyn CoveringSource>>,
    /// The framework's other sources of tools, whose tools end the first page of a list.
    built_in: Vec<Arc<dyn ToolSource>>,
    resources: Vec<Arc<dyn ResourceSource>>,
}

/// A source of the framework through which a model reaches the tools of the registry, most of which need not be listed
/// then.
pub(crate) trait CoveringSource: ToolSource {
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

/// A source of the framework of resources that no list contains.
pub(crate) trait ResourceSource: Send + Sync {
    /// Returns the resource at a URI in its normal form, and its arguments, if the URI has the form of this source's
    /// URIs.
    fn resource_at(&self, uri: &str) -> Option<(&Arc<Callable>, String)>;
}

impl ServerSources {
    pub(crate) fn set_cover(&mut self, source: Arc<dyn CoveringSource>) {
        self.cover = Some(source);
    }

    pub(crate) fn add_built_in(&mut self, source: Arc<dyn ToolSource>) {
        self.built_in.push(source);
    }

    pub(crate) fn add_resources(&mut self, source: Arc<dyn ResourceSource>) {
        self.resources.push(source);
    }

    /// Returns the names that the sources reserve.
    pub(crate) fn reservations(&self) -> NameReservations {
        let built_in = self.built_in().map(|source| NamedSource {
            name: source.name().into(),
            source,
        });
        NameReservations::new(built_in)
    }

    fn built_in(&self) -> impl Iterator<Item = Arc<dyn ToolSource>> {
        let cover = self.cover.iter();
        let cover = cover.map(|cover| Arc::clone(cover) as Arc<dyn ToolSource>);
        cover.chain(self.built_in.iter().cloned())
    }

    /// Returns `true` if all tools are in the registry.
    #[inline]
    pub(super) fn have_no_tools(&self) -> bool {
        self.cover.is_none() && self.built_in.is_empty()
    }

    /// Returns `true` if there are resources besides those of the registry.
    pub(super) fn have_resources(&self) -> bool {
        !self.resources.is_empty()
    }

    /// Returns the resource at a URI in its normal form, and its arguments.
    pub(super) fn resource_at(&self, uri: &str) -> Option<(&Arc<Callable>, String)> {
        let mut sources = self.resources.iter();
        sources.find_map(|source| source.resource_at(uri))
    }

    /// Returns the list entries that stand for the tools of the registry, separated by commas, or `None` if those are
    /// listed themselves.
    pub(super) fn covering_items(&self, request: &SourceRequest<'_>) -> Option<String> {
        let cover = self.covering(request.view())?;
        Some(listed_items(cover, request))
    }

    fn covering(&self, view: CallerView<'_>) -> Option<&dyn CoveringSource> {
        self.cover.as_deref().filter(|cover| cover.covers(view))
    }
}

/// Returns the list entries of a source of the framework, separated by commas.
fn listed_items(source: &(impl ToolSource + ?Sized), request: &SourceRequest<'_>) -> String {
    let mut items = String::new();
    if let Some(Ok(page)) = source.list(request, None).at_hand() {
        for tool in &page.items {
            tool.append_to(&mut items, request.info().protocol_version());
        }
    }
    items
}

impl Dispatcher {
    /// Returns the target of a call to a tool that the registry does not show to the request.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such tool, or if the caller lacks scopes.
    #[inline(never)]
    pub(super) fn tool_of_source<'m>(
        self: &Arc<Self>,
        name: &str,
        request: &Request<'m>,
        view: CallerView<'_>,
    ) -> Result<(CallTarget, Cow<'m, str>), ErrorObject> {
        let sources = &self.settings.sources;
        let cover = sources.cover.as_ref();
        if let Some(cover) = cover.filter(|cover| cover.reserves(name).is_some()) {
            let limits = self.limits().message.parse_limits();
            let (tool, arguments) = cover.target(name, request.arguments()?, view, &limits)?;
            return Ok((CallTarget::Named(tool), arguments));
        }
        let capabilities = || request.sender.capabilities();
        let info = RequestInfo::new(request.version, RequestSource::Message);
        let asked = SourceRequest::new(view, &info, &capabilities);
        let mut sources = sources.built_in.iter();
        let found = sources.find_map(|source| {
            let answer = source.resolve(&asked, name).at_hand()?;
            answer.ok().flatten()
        });
        match found.as_ref().and_then(|tool| tool.built_in_callable()) {
            Some(tool) => {
                let arguments = request.arguments()?.into();
                Ok((CallTarget::Named(Arc::clone(tool)), arguments))
            }
            None => Err(view.unknown_tool(name)),
        }
    }

    /// Returns a page of the list of tools.
    ///
    /// # Errors
    ///
    /// Returns an error if the cursor does not belong to this list.
    pub(super) fn tool_page(
        &self,
        request: &Request<'_>,
        view: CallerView<'_>,
        cursor: Option<&str>,
    ) -> Result<ListPage, ErrorObject> {
        let sources = &self.settings.sources;
        let capabilities = || request.sender.capabilities();
        let info = RequestInfo::new(request.version, RequestSource::Message);
        let asked = SourceRequest::new(view, &info, &capabilities);
        let page = match (sources.covering(view), cursor) {
            // The list has only one page, so any cursor belongs to another list.
            (Some(_), Some(_)) => return Err(errors::invalid_cursor()),
            (Some(cover), None) => {
                let first = listed_items(cover, &asked);
                view.short_tool_page(&first, |tool| cover.keeps(tool), request.version)
            }
            (None, cursor) => {
                match view.page(
                    Capability::Tools,
                    request.version,
                    cursor,
                    &self.settings.cursors,
                ) {
                    Ok(ListPage::Ready(page)) => page,
                    Ok(page) => return Ok(page),
                    Err(_) => return Err(errors::invalid_cursor()),
                }
            }
        };
        if cursor.is_some() {
            return Ok(ListPage::Ready(page));
        }
        let built_in = sources.built_in.iter();
        let items = built_in.map(|source| listed_items(&**source, &asked));
        Ok(ListPage::Ready(
            items.fold(page, |page, items| with_last_items(page, &items)),
        ))
    }
}

/// Returns the members of a list's page with these items appended to the list.
fn with_last_items(page: Bytes, items: &str) -> Bytes {
    if items.is_empty() {
        return page;
    }
    // Cursors contain no brackets, so the last bracket closes the list.
    let end = page.iter().rposition(|byte| *byte == b']');
    let (list, rest) = page.split_at(end.unwrap_or_default());
    let mut members = list.to_vec();
    if !list.ends_with(b"[") {
        members.push(b',');
    }
    members.extend_from_slice(items.as_bytes());
    members.extend_from_slice(rest);
    members.into()
}
