//! List pages as seen by a particular caller.
//!
//! A list that is the same for all callers is rendered once. If a list depends on the caller, its items are rendered
//! once, but its pages are assembled from the items for each request, and its cursors are valid only for the same
//! caller.

use std::sync::Arc;

use super::view::CallerView;
use crate::context::Capability;
use crate::protocol::ProtocolVersion;
use crate::registry::callable::{Callable, ItemDetails};
use crate::registry::cursor::{
    Cursor, CursorPosition, CursorReader, CursorSeal, InvalidCursor, ItemMark,
};
use crate::registry::page::{ListPage, PartialPage, TemplateWithLister};
use crate::registry::table::{CallableTable, SelectedCallables, TableSlot};

/// The registry's part of a page of tools whose list goes on with the tools of sources.
pub(crate) enum ToolPart {
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
