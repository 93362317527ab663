//! Finds tools and pages of the list of tools for requests, if the server has sources of tools besides the registry.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;

use crate::context::{Capability, RequestInfo, RequestSource};
use crate::dispatch::Dispatcher;
use crate::dispatch::request::Request;
use crate::dispatch::sourced::{AskedSource, SourcePage, SourcedTarget};
use crate::dispatch::sources::{listed_items, push_items};
use crate::dispatch::target::{CallTarget, UnfinishedPage};
use crate::jsonrpc::ErrorObject;
use crate::protocol::errors;
use crate::registry::{CallerView, ListPage, SourceRequest, ToolPart};

impl Dispatcher {
    /// Returns the target of a call to a tool that the registry does not show to the request.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such tool, or if the caller lacks scopes.
    #[inline(never)]
    pub(super) fn tool_of_source<'m>(
        &self,
        name: &str,
        request: &Request<'m>,
        view: CallerView<'_>,
    ) -> Result<(CallTarget, Cow<'m, str>), ErrorObject> {
        let sources = &self.settings.sources;
        if let Some(cover) = sources
            .cover()
            .filter(|cover| cover.reserves(name).is_some())
        {
            let limits = self.limits().message.parse_limits();
            let (tool, arguments) = cover.target(name, request.arguments()?, view, &limits)?;
            return Ok((CallTarget::Named(tool), arguments));
        }
        let capabilities = || request.sender.capabilities();
        let info = RequestInfo::new(request.version, RequestSource::Message);
        let asked = SourceRequest::new(view, &info, &capabilities);
        if let Some(tool) = sources.built_in_tool(&asked, name) {
            return Ok((CallTarget::Named(tool), request.arguments()?.into()));
        }
        let is_taken = view.has_tool_named(name) || sources.have_built_in(name);
        match sources.of_authors().filter(|_| !is_taken) {
            None => Err(view.unknown_tool(name)),
            Some(authors) => {
                let target = Arc::new(SourcedTarget::new(authors, name));
                Ok((CallTarget::Sourced(target), request.arguments()?.into()))
            }
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
    ) -> Result<NextPage, ErrorObject> {
        let sources = &self.settings.sources;
        let (version, seal) = (request.version, &self.settings.cursors);
        let capabilities = || request.sender.capabilities();
        let info = RequestInfo::new(version, RequestSource::Message);
        let asked = SourceRequest::new(view, &info, &capabilities);
        let cover = sources.covering(view);
        let Some(authors) = sources.of_authors() else {
            let page = match (cover, cursor) {
                // The list has only one page, so any cursor belongs to another list.
                (Some(_), Some(_)) => return Err(errors::invalid_cursor()),
                (Some(cover), None) => {
                    let first = listed_items(cover, &asked);
                    view.short_tool_page(&first, |tool| cover.keeps(tool), version)
                }
                (None, cursor) => match view.page(Capability::Tools, version, cursor, seal) {
                    Ok(ListPage::Ready(page)) => page,
                    Ok(ListPage::Listing(_)) | Err(_) => return Err(errors::invalid_cursor()),
                },
            };
            return Ok(NextPage::Ready(match cursor {
                None => with_last_items(page, &sources.last_items(&asked)),
                Some(_) => page,
            }));
        };
        let part = match (cover, cursor) {
            (Some(cover), None) => {
                let first = listed_items(cover, &asked);
                let items = view.tool_items(&first, |tool| cover.keeps(tool), version);
                Ok(ToolPart::Last { items, count: 1 })
            }
            _ => view.tool_part(version, cursor, &**seal),
        };
        let (mut items, count, (start, at)) = match part.map_err(|_| errors::invalid_cursor())? {
            ToolPart::Page(_) if cover.is_some() => return Err(errors::invalid_cursor()),
            ToolPart::Last { .. } if cover.is_some() && cursor.is_some() => {
                return Err(errors::invalid_cursor());
            }
            ToolPart::Page(ListPage::Ready(page)) => {
                return Ok(NextPage::Ready(match cursor {
                    None => with_last_items(page, &sources.last_items(&asked)),
                    Some(_) => page,
                }));
            }
            ToolPart::Page(ListPage::Listing(_)) => return Err(errors::invalid_cursor()),
            ToolPart::Last { items, count } => (items, count, (0, None)),
            ToolPart::Source { source, cursor } => {
                let mut names = authors.sources.iter().map(|named| &*named.name);
                let index = names.position(|name| source.is_of(name));
                let index = index.ok_or_else(errors::invalid_cursor)?;
                (String::new(), 0, (index, cursor))
            }
        };
        if cursor.is_none() {
            push_items(&mut items, &sources.last_items(&asked));
        }
        let page = SourcePage {
            authors: Arc::clone(authors),
            items,
            count,
            start,
            cursor: at,
            size: view.page_size(),
            version,
            asked: AskedSource::default(),
        };
        Ok(NextPage::Unfinished(UnfinishedPage::Tools(Arc::new(page))))
    }
}

/// A page of a list, as far as it is known when the request is decided.
pub(super) enum NextPage {
    /// The JSON text of the page's members.
    Ready(Bytes),
    Unfinished(UnfinishedPage),
}

impl From<ListPage> for NextPage {
    fn from(page: ListPage) -> Self {
        match page {
            ListPage::Ready(members) => Self::Ready(members),
            ListPage::Listing(page) => Self::Unfinished(UnfinishedPage::Resources(page)),
        }
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
