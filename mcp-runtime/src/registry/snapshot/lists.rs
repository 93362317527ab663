//! The pages of lists, as seen by one caller.
//!
//! A list that is the same for all callers is rendered once. If it depends on the caller, each of its pages is assembled
//! per request from items that are rendered once, and its cursors are valid only for the same caller.

use std::sync::Arc;

use super::view::View;
use crate::context::Capability;
use crate::protocol::ProtocolVersion;
use crate::registry::cursor::{Cursor, CursorPosition, InvalidCursor, ItemMark};
use crate::registry::entry::ListEntry;
#[cfg(any(feature = "cli", feature = "testing"))]
use crate::registry::entry::ResourceEntry;
use crate::registry::page::{ListPage, Listable, PartialPage};
use crate::registry::table::{EntryTable, TableEntry, TableRange};

impl View<'_> {
    /// Returns a page of a list, from its start or from `cursor`.
    ///
    /// # Errors
    ///
    /// If `cursor` was not created for this list and this caller.
    pub(crate) fn page(
        &self,
        list: Capability,
        version: ProtocolVersion,
        cursor: Option<&str>,
    ) -> Result<ListPage, InvalidCursor> {
        let snapshot = self.snapshot;
        let place = cursor
            .map(|cursor| Cursor::decode(list, self.owner(list), cursor))
            .transpose()?
            .map(|cursor| cursor.place);
        match list {
            Capability::Tools => self.plain(&snapshot.tools, list, version, place.as_ref()),
            Capability::Prompts => self.plain(&snapshot.prompts, list, version, place.as_ref()),
            Capability::Templates => self.plain(&snapshot.templates, list, version, place.as_ref()),
            Capability::Resources => self.resources(version, place),
        }
    }

    fn plain<E: ListEntry>(
        &self,
        table: &EntryTable<E>,
        list: Capability,
        version: ProtocolVersion,
        place: Option<&CursorPosition>,
    ) -> Result<ListPage, InvalidCursor> {
        let start = match place {
            None => 0,
            Some(CursorPosition::After(mark)) => table.after(mark),
            Some(CursorPosition::Within(..)) => return Err(InvalidCursor),
        };
        let cursor = |last: &TableEntry<E>| {
            let place = CursorPosition::After(ItemMark::new(&last.key, last.entry.found_by()));
            Cursor { list, place }.encode(self.owner(list))
        };
        let size = self.snapshot.page_size;
        Ok(ListPage::Ready(if self.snapshot.is_filtered(list) {
            let part = self.part(table, start);
            table.members(&part, version, cursor).into()
        } else {
            table.page(start, size, version, cursor)
        }))
    }

    fn resources(
        &self,
        version: ProtocolVersion,
        place: Option<CursorPosition>,
    ) -> Result<ListPage, InvalidCursor> {
        let table = &self.snapshot.resources;
        let mut listers: Vec<_> = self
            .snapshot
            .templates
            .visible()
            .filter_map(|slot| {
                let lister = slot.entry.lister.clone()?;
                let uri_template = slot.entry.found_by().to_owned();
                let template = Listable {
                    uri_template,
                    lister,
                };
                Some((&slot.key, slot.entry.as_ref(), template))
            })
            .filter(|(_, entry, _)| entry.access.is_open_to(self.caller))
            .map(|(key, entry, template)| (key, ItemMark::new(key, entry.found_by()), template))
            .collect();
        let start = match &place {
            None => 0,
            Some(CursorPosition::After(mark)) => table.after(mark),
            Some(CursorPosition::Within(..)) => table.len(),
        };
        let part = (!listers.is_empty()).then(|| self.part(table, start));
        let Some(part) = part.filter(|part| !part.more) else {
            let place = place.filter(|place| matches!(place, CursorPosition::After(_)));
            return match place {
                None if start > 0 => Ok(ListPage::Ready("\"resources\":[]".into())),
                place => self.plain(table, Capability::Resources, version, place.as_ref()),
            };
        };
        let mut cursor = None;
        if let Some(CursorPosition::Within(mark, inner)) = place {
            // If the template is gone, the next one starts from its first page.
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
        Ok(ListPage::Listing(PartialPage {
            text: table.items(&part, version),
            count: part.len(),
            listers: listers
                .into_iter()
                .map(|(_, mark, entry)| (mark, entry))
                .collect(),
            cursor,
            owner: self.owner(Capability::Resources).to_owned(),
            listed: Arc::clone(table),
            size: self.snapshot.page_size,
            version,
        }))
    }

    /// Returns all resources with a definition that the caller has access to, without those from listing functions: as
    /// items of a list in the shape of `version`, separated by commas.
    #[cfg(any(feature = "cli", feature = "testing"))]
    pub(crate) fn defined_resources(&self, version: ProtocolVersion) -> String {
        let table = &self.snapshot.resources;
        let usable = |entry: &ResourceEntry| entry.access().is_open_to(self.caller);
        table.items(&table.part(0, usize::MAX, usable), version)
    }

    /// Returns one page of the entries that the caller has access to.
    fn part<E: ListEntry>(&self, table: &EntryTable<E>, start: usize) -> TableRange {
        table.part(start, self.snapshot.page_size, |entry| {
            entry.access().is_open_to(self.caller)
        })
    }

    /// Returns the owner of a list's cursors: empty if all callers see the same list.
    fn owner(&self, list: Capability) -> &str {
        if self.snapshot.is_filtered(list) {
            self.caller.key()
        } else {
            ""
        }
    }
}
