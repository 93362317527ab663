//! A snapshot as seen by a particular caller. Items that are hidden from the caller or whose tags the request does not
//! select do not appear in this view or in its suggestions.
//!
//! If the caller lacks scopes that a visible item requires, the item is omitted from lists, and a request for it is
//! rejected with an error that names the required scopes.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::sync::Arc;

use bytes::Bytes;
use mcp_schema::suggest::closest;

use crate::context::{Caller, Capability};
use crate::handler::option::AttachedOption;
use crate::handler::tags::{TagSelection, UnknownTag};
use crate::jsonrpc::ErrorObject;
use crate::order::set_of;
use crate::protocol::{ProtocolVersion, errors};
use crate::registry::callable::{Callable, ItemDetails, RequestedCompleter, push_item};
use crate::registry::cursor::{
    Cursor, CursorPosition, CursorReader, CursorSeal, InvalidCursor, ItemMark,
};
use crate::registry::snapshot::Snapshot;
use crate::registry::table::{
    CallableTable, ListPage, PartialPage, SelectedCallables, TableSlot, TemplateWithLister,
};
use crate::types::CompletionReference;

/// A snapshot as seen by a particular caller.
#[derive(Clone, Copy, Debug)]
pub struct CallerView<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) caller: &'a Caller,
    /// The definitions that the request selects, or `None` if it selects all of them.
    pub(super) selection: Option<&'a TagSelection>,
}

impl<'a> CallerView<'a> {
    /// Returns a view that contains only the selected definitions.
    #[must_use]
    pub fn narrowed_to(self, selection: Option<&'a TagSelection>) -> Self {
        Self { selection, ..self }
    }

    /// Returns the caller.
    pub(crate) const fn caller(&self) -> &'a Caller {
        self.caller
    }

    /// Returns `true` if other requests may see a different list.
    pub(crate) fn is_filtered(&self, list: Capability) -> bool {
        self.selection.is_some() || self.snapshot.is_restricted(list)
    }

    /// Returns `true` if the definition exists for this request, although the caller may lack the required scopes.
    pub(crate) fn shows(&self, callable: &Callable) -> bool {
        self.is_selected(callable) && callable.access.is_visible_to(self.caller)
    }

    /// Returns `true` if the request may use the definition.
    pub(crate) fn permits(&self, callable: &Callable) -> bool {
        self.is_selected(callable) && callable.access.is_usable_by(self.caller)
    }

    /// Returns the tool with this name.
    ///
    /// # Errors
    ///
    /// Returns an error if the caller cannot see a tool with this name or lacks required scopes.
    pub fn tool(&self, name: &str) -> Result<&'a Arc<Callable>, ErrorObject> {
        self.find_usable(&self.snapshot.tools, name, errors::unknown_tool)
    }

    /// Returns `true` if the registry has a tool with this name, even if nobody may use it.
    pub(crate) fn has_tool_named(&self, name: &str) -> bool {
        self.snapshot.tools.has(name)
    }

    /// Returns the error for a tool that the caller cannot see, with a similar name that it may use.
    pub(crate) fn unknown_tool(&self, name: &str) -> ErrorObject {
        errors::unknown_tool(name, self.similar_name(&self.snapshot.tools, name))
    }

    /// Returns the tool with this name, or `None` if the caller cannot see such a tool. Does not search for similar
    /// names.
    ///
    /// # Errors
    ///
    /// Returns an error if the caller lacks required scopes.
    #[inline]
    pub fn visible_tool(&self, name: &str) -> Result<Option<&'a Arc<Callable>>, ErrorObject> {
        let tool = self.find_visible(&self.snapshot.tools, name);
        tool.map(|tool| self.check_scopes(tool)).transpose()
    }

    /// Returns `true` if the caller may reach what calls to the tool with this name have left: tasks, jobs and kept
    /// results. Returns `false` if it must be told that there is no such thing.
    ///
    /// This is the decision that a call would get, except that a disabled tool only refuses new calls. The access rules of
    /// a removed tool are gone with it, so callers with credentials cannot reach what it has left, because one of their
    /// tokens may allow less than another. Callers without credentials all have the same rights as the one whose call it
    /// was. Tags do not matter, because clients choose them.
    ///
    /// # Errors
    ///
    /// Returns an error if the caller lacks required scopes.
    pub(crate) fn may_reach_work_of(&self, tool: &str) -> Result<bool, ErrorObject> {
        let Some(tool) = self.snapshot.tools.get_even_disabled(tool) else {
            return Ok(self.caller.principal().is_none());
        };
        if !tool.access.is_visible_to(self.caller) {
            return Ok(false);
        }
        self.check_scopes(tool).map(|_| true)
    }

    /// Returns the tools that the request may use, in the order of the list.
    pub fn tools(self) -> impl Iterator<Item = &'a Arc<Callable>> {
        let callables = self.snapshot.tools.visible().map(|slot| &slot.callable);
        callables.filter(move |callable| self.permits(callable))
    }

    /// Returns the prompt with this name.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`tool`](Self::tool), but for a prompt.
    pub(crate) fn prompt(&self, name: &str) -> Result<&'a Arc<Callable>, ErrorObject> {
        self.find_usable(&self.snapshot.prompts, name, errors::unknown_prompt)
    }

    #[inline]
    fn find_usable(
        &self,
        table: &'a CallableTable,
        name: &str,
        unknown: impl Fn(&str, Option<&str>) -> ErrorObject,
    ) -> Result<&'a Arc<Callable>, ErrorObject> {
        let Some(callable) = self.find_visible(table, name) else {
            return Err(unknown(name, self.similar_name(table, name)));
        };
        self.check_scopes(callable)
    }

    /// Returns the tool with this name if the caller may use it.
    pub(crate) fn usable_tool(&self, name: &str) -> Option<&'a Arc<Callable>> {
        self.find_visible(&self.snapshot.tools, name)
            .filter(|callable| self.permits(callable))
    }

    /// Returns the resource with an equivalent URI or, failing that, the most specific matching template, along with its
    /// arguments.
    ///
    /// # Errors
    ///
    /// Returns an error if the caller cannot see such a resource or template, or lacks required scopes. The error has
    /// the form that `version` requires.
    pub(crate) fn resource_at(
        &self,
        uri: &str,
        version: ProtocolVersion,
    ) -> Result<(&'a Arc<Callable>, Cow<'static, str>), ErrorObject> {
        let key = Capability::Resources.lookup_key(uri);
        if let Some(resource) = self.find_visible(&self.snapshot.resources, &key) {
            return Ok((self.check_scopes(resource)?, "{}".into()));
        }
        let (template, variables) = self
            .matching_template(&key)
            .ok_or_else(|| errors::resource_not_found(version, uri))?;
        let variables = variables.iter().map(|(name, value)| (*name, &**value));
        let arguments = self.check_scopes(template)?.arguments(variables);
        Ok((template, arguments.into()))
    }

    /// Returns the completer for an argument.
    ///
    /// # Errors
    ///
    /// Returns error -32602 if the caller cannot see such a prompt or template, or if the prompt or template has no
    /// such argument. Also returns an error if the caller lacks required scopes.
    pub(crate) fn completer(
        &self,
        reference: &CompletionReference,
        argument: &str,
    ) -> Result<RequestedCompleter, ErrorObject> {
        let mut known = Vec::new();
        let name = reference.target();
        let (what, target) = if reference.is_prompt() {
            ("prompt", self.find_visible(&self.snapshot.prompts, name))
        } else {
            let key = Capability::Templates.lookup_key(name);
            let template = self
                .find_visible(&self.snapshot.templates, &key)
                .or_else(|| {
                    let (template, variables) = self.matching_template(&key)?;
                    // The other variables of the URI are treated as arguments that have already been filled in.
                    known = variables
                        .into_iter()
                        .filter(|(name, _)| *name != argument)
                        .map(|(name, value)| (name.to_owned(), value))
                        .collect();
                    Some(template)
                });
            ("resource template", template)
        };
        // A resource without variables has no arguments to complete.
        let Some(target) = target else {
            return Err(ErrorObject::invalid_params(format!(
                "unknown {what} `{name}`"
            )));
        };
        let completions = &self.check_scopes(target)?.completions;
        let completer = completions.find(argument).cloned().ok_or_else(|| {
            let names: Vec<_> = completions
                .names()
                .map(|name| format!("`{name}`"))
                .collect();
            ErrorObject::invalid_params(if names.is_empty() {
                format!("{what} `{name}` has no argument `{argument}`; it has no arguments")
            } else {
                format!(
                    "{what} `{name}` has no argument `{argument}`; it has {}",
                    names.join(", ")
                )
            })
        })?;
        Ok(RequestedCompleter { completer, known })
    }

    /// Returns the callable with this name, if it is served and visible to the caller.
    fn find_visible(&self, table: &'a CallableTable, name: &str) -> Option<&'a Arc<Callable>> {
        table.get(name).filter(|callable| self.shows(callable))
    }

    /// Returns the callable unless the caller lacks scopes that it requires.
    fn check_scopes<'c>(
        &self,
        callable: &'c Arc<Callable>,
    ) -> Result<&'c Arc<Callable>, ErrorObject> {
        callable.access.check_scopes(self.caller)?;
        Ok(callable)
    }

    /// Returns the most specific enabled template that matches a URI in its normal form and is visible to the caller,
    /// along with its variables.
    fn matching_template(&self, uri: &str) -> Option<TemplateMatch<'a>> {
        let templates = self.snapshot.templates.visible();
        let matching = templates.filter_map(|slot| match &slot.callable.details {
            ItemDetails::Template { pattern, .. } => {
                let variables = pattern.matches(uri)?;
                Some((&slot.callable, pattern.specificity(), variables))
            }
            _ => None,
        });
        matching
            .filter(|(callable, ..)| self.shows(callable))
            // If several templates are equally specific, the first of them is used.
            .min_by_key(|(_, specificity, _)| Reverse(*specificity))
            .map(|(callable, _, variables)| (callable, variables))
    }

    /// Returns a similar name that the caller may use, chosen from the first callables in the table.
    fn similar_name(&self, table: &'a CallableTable, name: &str) -> Option<&'a str> {
        const MAX: usize = 1_000;
        let callables = table.visible().take(MAX).map(|slot| &slot.callable);
        let usable = callables.filter(|callable| self.permits(callable));
        closest(name, usable.map(|callable| &*callable.name))
    }
}

/// A template, and the variables for which it expands to the URI.
type TemplateMatch<'a> = (&'a Arc<Callable>, Vec<(&'a str, String)>);

// --- Selects definitions by tag, and checks that selected tags exist.
//
// The server's own selection is applied when a snapshot is created. A request's selection narrows its view.

impl Snapshot {
    /// Returns an error if a tag in the server's own selection is unknown, that is, if no definition has it and it is
    /// not `described`.
    pub(in crate::registry) fn check_tags<'t>(
        &'t self,
        selection: &TagSelection,
        described: impl Iterator<Item = &'t str>,
    ) -> Result<(), UnknownTag> {
        let tags = self.tables().into_iter().flat_map(CallableTable::tags);
        let tags = set_of(tags.chain(described));
        selection.check(|tag| tags.contains(tag), || tags.clone())
    }

    /// Restricts the snapshot to the server's own selection.
    pub(in crate::registry) fn apply_selection(&mut self, selection: &TagSelection) {
        for list in [
            Capability::Tools,
            Capability::Prompts,
            Capability::Resources,
            Capability::Templates,
        ] {
            let table = self.table(list);
            let selects = |slot: &TableSlot| self.selects(selection, &slot.callable);
            if table
                .slots()
                .iter()
                .all(|slot| slot.selected == selects(slot))
            {
                continue;
            }
            let slots = table.slots().iter().map(|slot| TableSlot {
                selected: selects(slot),
                ..slot.clone()
            });
            let table = table.with_slots(slots.collect());
            *self.table_mut(list) = Arc::new(table);
        }
    }

    /// Returns `true` if the selection contains the definition, or contains a tool to which the definition belongs,
    /// regardless of the definition's own tags.
    pub(in crate::registry) fn selects(
        &self,
        selection: &TagSelection,
        callable: &Callable,
    ) -> bool {
        let mut tools = self.tools_with_companion(callable);
        selection.selects(&callable.tags)
            || tools.any(|tool| selection.selects(&tool.callable.tags))
    }

    /// Returns the tools to which the definition belongs, whether or not they are served.
    fn tools_with_companion(&self, callable: &Callable) -> impl Iterator<Item = &TableSlot> {
        let uri = match &callable.details {
            ItemDetails::Resource(resource) => Some(&*resource.uri),
            _ => None,
        };
        let tools = uri.map(|uri| self.tools.tools_with_companion(uri));
        tools.into_iter().flatten()
    }
}

impl CallerView<'_> {
    /// Returns an error if a tag in a request's selection is unknown, that is, if no definition visible to this caller
    /// has it and it is not `described`. Tags of definitions that the caller cannot see are treated as unknown.
    pub(crate) fn check_tags<'t>(
        &'t self,
        selection: &TagSelection,
        described: impl Iterator<Item = &'t str>,
    ) -> Result<(), UnknownTag> {
        let described = set_of(described);
        let visible = || {
            let tables = self.snapshot.tables().into_iter();
            let callables = tables.flat_map(CallableTable::visible);
            let callables = callables.map(|slot| &*slot.callable);
            callables.filter(|callable| callable.access.is_visible_to(self.caller))
        };
        let has =
            |callable: &Callable, tag: &str| callable.tags.iter().any(|known| **known == *tag);
        let known = |tag: &str| {
            // Most unknown tags are detected without examining each definition.
            let exists = self
                .snapshot
                .tables()
                .iter()
                .any(|table| table.has_tag(tag));
            described.contains(tag) || (exists && visible().any(|callable| has(callable, tag)))
        };
        let shown = || {
            let tags = visible().flat_map(|callable| &callable.tags);
            set_of(tags.map(|tag| &**tag).chain(described.iter().copied()))
        };
        selection.check(known, shown)
    }

    /// Returns `true` if the request's selection contains the definition, or a tool that is visible to the caller and to
    /// which the definition belongs.
    #[inline]
    fn is_selected(&self, callable: &Callable) -> bool {
        self.selection
            .is_none_or(|selection| self.is_in(selection, callable))
    }

    /// This is not inlined because most requests do not have a selection.
    #[inline(never)]
    fn is_in(&self, selection: &TagSelection, callable: &Callable) -> bool {
        let mut tools = self.snapshot.tools_with_companion(callable);
        selection.selects(&callable.tags)
            || tools.any(|tool| {
                tool.is_served()
                    && selection.selects(&tool.callable.tags)
                    && tool.callable.access.is_visible_to(self.caller)
            })
    }
}

// --- List pages as seen by a particular caller.
//
// A list that is the same for all callers is rendered once. If a list depends on the caller, its items are rendered
// once, but its pages are assembled from the items for each request, and its cursors are valid only for the same
// caller.

/// The registry's part of a page of tools whose list goes on with the tools of sources.
pub enum ToolPart {
    /// The whole page, which is followed by others of the registry.
    Page(ListPage),
    /// The registry's last tools, as comma-separated JSON, and their number.
    Last { items: String, count: usize },
    /// The page begins within a source, at its cursor.
    Source {
        source: ItemMark,
        cursor: Option<String>,
    },
}

impl CallerView<'_> {
    /// Returns the list page that starts at `cursor`, or the first page if there is no cursor. `seal` seals and opens the
    /// cursors that are for this caller only.
    ///
    /// # Errors
    ///
    /// Returns an error if `cursor` was not created for this list and this caller.
    pub(crate) fn page(
        &self,
        list: Capability,
        version: ProtocolVersion,
        cursor: Option<&str>,
        seal: &Arc<dyn CursorSeal>,
    ) -> Result<ListPage, InvalidCursor> {
        let position = cursor
            .map(|cursor| Cursor::decode(list, self.cursor_reader(list, &**seal), cursor))
            .transpose()?
            .map(|cursor| cursor.position);
        if list == Capability::Resources {
            self.resource_page(version, position, seal)
        } else {
            self.plain_page(list, version, position.as_ref(), &**seal)
        }
    }

    /// Returns the registry's part of a page of tools whose list goes on with the tools of sources.
    ///
    /// # Errors
    ///
    /// Returns an error if `cursor` was not created for this list and this caller.
    pub(crate) fn tool_part(
        &self,
        version: ProtocolVersion,
        cursor: Option<&str>,
        seal: &dyn CursorSeal,
    ) -> Result<ToolPart, InvalidCursor> {
        let list = Capability::Tools;
        let table = &self.snapshot.tools;
        let position = cursor
            .map(|cursor| Cursor::decode(list, self.cursor_reader(list, seal), cursor))
            .transpose()?
            .map(|cursor| cursor.position);
        let start = match &position {
            None => 0,
            Some(CursorPosition::After(mark)) => table.count_through(mark),
            Some(CursorPosition::Within(mark, _)) => {
                let source = mark.clone();
                let cursor = match position {
                    Some(CursorPosition::Within(_, cursor)) => cursor,
                    _ => None,
                };
                return Ok(ToolPart::Source { source, cursor });
            }
        };
        let permits = |tool: &Callable| self.permits(tool);
        let part = table.select_visible(start, self.snapshot.page_size, Some(&permits));
        if part.more {
            let page = self.plain_page(list, version, position.as_ref(), seal)?;
            return Ok(ToolPart::Page(page));
        }
        Ok(ToolPart::Last {
            items: table.rendered_items(&part, version),
            count: part.len(),
        })
    }

    /// Returns the maximum number of items on a page.
    pub(crate) const fn page_size(&self) -> usize {
        self.snapshot.page_size
    }

    fn plain_page(
        &self,
        list: Capability,
        version: ProtocolVersion,
        position: Option<&CursorPosition>,
        seal: &dyn CursorSeal,
    ) -> Result<ListPage, InvalidCursor> {
        let table = self.snapshot.table(list);
        let start = match position {
            None => 0,
            Some(CursorPosition::After(mark)) => table.count_through(mark),
            Some(CursorPosition::Within(..)) => return Err(InvalidCursor),
        };
        let cursor = |last: &TableSlot| {
            let position = CursorPosition::After(ItemMark::new(&last.key, &last.callable.name));
            Cursor { list, position }.encode(self.cursor_reader(list, seal))
        };
        let size = self.snapshot.page_size;
        Ok(ListPage::Ready(if self.is_filtered(list) {
            let part = self.page_range(table, start);
            table.page_members(&part, version, cursor).into()
        } else {
            table.render_page(start, size, version, cursor)
        }))
    }

    fn resource_page(
        &self,
        version: ProtocolVersion,
        position: Option<CursorPosition>,
        seal: &Arc<dyn CursorSeal>,
    ) -> Result<ListPage, InvalidCursor> {
        let table = &self.snapshot.resources;
        let visible = self.snapshot.templates.visible();
        let open = visible.filter(|slot| self.permits(&slot.callable));
        let mut listers: Vec<_> = open
            .filter_map(|slot| {
                let ItemDetails::Template { lister, .. } = &slot.callable.details else {
                    return None;
                };
                let lister = lister.clone()?;
                let name = &slot.callable.name;
                let template = TemplateWithLister {
                    uri_template: Arc::clone(name),
                    lister,
                };
                Some((&slot.key, ItemMark::new(&slot.key, name), template))
            })
            .collect();
        let start = match &position {
            None => 0,
            Some(CursorPosition::After(mark)) => table.count_through(mark),
            Some(CursorPosition::Within(..)) => table.len(),
        };
        let part = (!listers.is_empty()).then(|| self.page_range(table, start));
        let Some(part) = part.filter(|part| !part.more) else {
            let position = position.filter(|at| matches!(at, CursorPosition::After(_)));
            return match position {
                None if start > 0 => Ok(ListPage::Ready("\"resources\":[]".into())),
                position => {
                    let position = position.as_ref();
                    self.plain_page(Capability::Resources, version, position, &**seal)
                }
            };
        };
        let mut cursor = None;
        if let Some(CursorPosition::Within(mark, inner)) = position {
            // If the template no longer exists, continue with the first page of the next template.
            let held = listers
                .iter()
                .position(|(_, held, _)| held.fingerprint == mark.fingerprint);
            let skip = match held {
                Some(index) => {
                    cursor = inner;
                    index
                }
                None => listers.partition_point(|(key, ..)| **key <= mark.key),
            };
            listers.drain(..skip.min(listers.len()));
        }
        Ok(ListPage::Listing(Arc::new(PartialPage {
            text: table.rendered_items(&part, version),
            count: part.len(),
            listers: listers
                .into_iter()
                .map(|(_, mark, entry)| (mark, entry))
                .collect(),
            cursor,
            caller: self.caller.key().to_owned(),
            seal: Arc::clone(seal),
            listed: Arc::clone(table),
            size: self.snapshot.page_size,
            version,
        })))
    }

    /// Returns all definitions in a list to which the caller has access, including disabled definitions and excluding
    /// resources that only listers return. The result is `first`, followed by a comma-separated sequence of list items
    /// in the form that `version` requires.
    pub(crate) fn declared_items(
        &self,
        list: Capability,
        first: &str,
        version: ProtocolVersion,
    ) -> String {
        let mut items = first.to_owned();
        let slots = self.snapshot.table(list).slots().iter();
        for slot in slots.filter(|slot| slot.selected && self.permits(&slot.callable)) {
            slot.callable.append_list_item(&mut items, version);
        }
        items
    }

    /// Returns a page of the callables that the request may use.
    fn page_range(&self, table: &CallableTable, start: usize) -> SelectedCallables {
        let permits = |callable: &Callable| self.permits(callable);
        let permits = Some(&permits as &dyn Fn(&Callable) -> bool);
        let filter = permits.filter(|_| self.is_filtered(table.list()));
        table.select_visible(start, self.snapshot.page_size, filter)
    }

    /// Returns the reader of a list's cursors.
    fn cursor_reader<'s>(&'s self, list: Capability, seal: &'s dyn CursorSeal) -> CursorReader<'s> {
        CursorReader {
            seal,
            caller: self.caller.key(),
            is_shared: !self.is_filtered(list),
        }
    }
}

// --- Which tools a request may use, and shorter lists of them.

impl<'a> CallerView<'a> {
    /// Returns `true` if the request may use more than this number of tools.
    #[must_use]
    pub fn has_more_tools_than(self, count: usize) -> bool {
        if self.is_filtered(Capability::Tools) {
            self.tools().nth(count).is_some()
        } else {
            self.snapshot.tools.len() > count
        }
    }

    /// Returns `true` if the request may use a tool with such options.
    pub(crate) fn has_tool_with(self, are_such: fn(&[AttachedOption]) -> bool) -> bool {
        self.tools().any(|tool| are_such(&tool.options))
    }

    /// Returns the members of a page that contains the rendered tools in `first`, followed by the tools that the
    /// request may use and `shows` accepts.
    pub(crate) fn short_tool_page(
        self,
        first: &str,
        shows: impl Fn(&Callable) -> bool,
        version: ProtocolVersion,
    ) -> Bytes {
        let items = self.tool_items(first, shows, version);
        format!("\"{}\":[{items}]", Capability::Tools.member()).into()
    }

    /// Returns `first` followed by the tools that the request may use and `shows` accepts, as comma-separated JSON
    /// objects in the form that `version` requires.
    pub(crate) fn tool_items(
        self,
        first: &str,
        shows: impl Fn(&Callable) -> bool,
        version: ProtocolVersion,
    ) -> String {
        let table = &self.snapshot.tools;
        let shows = |tool: &Callable| self.permits(tool) && shows(tool);
        let others = table.select_visible(0, usize::MAX, Some(&shows));
        let mut items = first.to_owned();
        push_item(&mut items, &table.rendered_items(&others, version));
        items
    }

    /// Returns all tools in the order of the list, each with whether the request may use it.
    pub fn tools_with_permission(self) -> impl Iterator<Item = (&'a Arc<Callable>, bool)> {
        let callables = self.snapshot.tools.visible().map(|slot| &slot.callable);
        callables.map(move |callable| (callable, self.permits(callable)))
    }
}
