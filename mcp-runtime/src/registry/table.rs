//! The entries of one kind: found by name, kept in a stable order, with list pages that are rendered once.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use crate::fnv::{FnvMap, fnv};
use crate::protocol::ProtocolVersion;
use crate::protocol::encode::one_line;
use crate::protocol::shape::Shape;
use crate::registry::cursor::ItemMark;
use crate::registry::entry::ListEntry;

/// The position of an entry in its list. The same in every instance of a program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OrderKey {
    /// Annotated functions come first, by the number of the definition in the program.
    Declared(u32),
    /// Entries inserted at run time follow, by name, whatever the order of insertion.
    Inserted(Arc<str>),
}

/// An entry with its position.
#[derive(Debug)]
pub(crate) struct TableEntry<E> {
    pub(crate) key: OrderKey,
    pub(crate) entry: Arc<E>,
    pub(crate) enabled: bool,
}

impl<E> Clone for TableEntry<E> {
    fn clone(&self) -> Self {
        Self {
            key: self.key.clone(),
            entry: Arc::clone(&self.entry),
            enabled: self.enabled,
        }
    }
}

/// All entries of a kind. Immutable; an edit creates a new table.
#[derive(Debug)]
pub(crate) struct EntryTable<E> {
    /// The entries, in order.
    slots: Vec<TableEntry<E>>,
    /// The index in `slots` by name.
    names: FnvMap<Box<str>, usize>,
    /// The indexes of enabled entries in `slots`.
    visible: Vec<usize>,
    /// `true` if there are entries with access rules.
    restricted: bool,
    /// Rendered enabled entries by protocol version, for callers who do not see them all.
    items: [OnceLock<Box<[Arc<str>]>>; ProtocolVersion::ALL.len()],
    /// Rendered pages by protocol version, and by number if they start at a multiple of the page size.
    pages: [OnceLock<Pages>; ProtocolVersion::ALL.len()],
}

type Pages = Box<[OnceLock<Bytes>]>;

impl<E: ListEntry> EntryTable<E> {
    /// Creates a table of these entries, given in any order. Of entries with the same name, all but one are lost, so check
    /// first.
    pub(crate) fn new(slots: Vec<TableEntry<E>>) -> Self {
        let slots = in_order(slots);
        let names = slots
            .iter()
            .enumerate()
            .map(|(index, slot)| (slot.entry.found_by().into(), index))
            .collect();
        let visible = slots
            .iter()
            .enumerate()
            .filter(|(_, slot)| slot.enabled)
            .map(|(index, _)| index)
            .collect();
        let restricted = slots.iter().any(|slot| slot.entry.access().is_restricted());
        Self {
            slots,
            names,
            visible,
            restricted,
            items: Default::default(),
            pages: Default::default(),
        }
    }

    /// Returns the enabled entry with this name.
    pub(crate) fn get(&self, name: &str) -> Option<&Arc<E>> {
        self.slot(name)
            .filter(|slot| slot.enabled)
            .map(|slot| &slot.entry)
    }

    /// Returns the entry with this name, enabled or not.
    pub(crate) fn slot(&self, name: &str) -> Option<&TableEntry<E>> {
        self.slots.get(*self.names.get(name)?)
    }

    /// Returns all entries, enabled or not, in order.
    pub(crate) fn slots(&self) -> &[TableEntry<E>] {
        &self.slots
    }

    /// Returns the enabled entries, in order.
    pub(crate) fn visible(&self) -> impl Iterator<Item = &TableEntry<E>> {
        self.visible
            .iter()
            .filter_map(|index| self.slots.get(*index))
    }

    /// Returns `true` if there are entries with access rules.
    pub(crate) fn is_restricted(&self) -> bool {
        self.restricted
    }

    /// Returns the number of enabled entries.
    pub(crate) fn len(&self) -> usize {
        self.visible.len()
    }

    /// Returns the number of enabled entries up to and including the marked one, or up to its former position
    /// if it is gone.
    pub(crate) fn after(&self, mark: &ItemMark) -> usize {
        let held = self
            .slots
            .iter()
            .position(|slot| fingerprint(slot.entry.found_by()) == mark.fingerprint);
        let next = match held {
            Some(index) => index.saturating_add(1),
            None => self.slots.partition_point(|slot| slot.key <= mark.key),
        };
        self.visible.partition_point(|index| *index < next)
    }

    /// Returns the members of the page of `size` enabled entries from `start`, for any caller. Rendered once.
    ///
    /// `cursor` creates the cursor for the page after an entry.
    pub(crate) fn page(
        &self,
        start: usize,
        size: usize,
        version: ProtocolVersion,
        cursor: impl Fn(&TableEntry<E>) -> String,
    ) -> Bytes {
        let render = || self.members(&self.part(start, size, |_| true), version, cursor);
        let Some(number) = start
            .checked_div(size)
            .filter(|number| number.saturating_mul(size) == start)
        else {
            return render().into();
        };
        let pages = self.pages.get(version as usize).map(|pages| {
            pages.get_or_init(|| {
                let count = self.visible.len().div_ceil(size).max(1);
                std::iter::repeat_with(OnceLock::new).take(count).collect()
            })
        });
        match pages.and_then(|pages| pages.get(number)) {
            None => render().into(),
            Some(page) => page
                .get_or_init(|| {
                    let text = render();
                    // Most protocol versions have the same page: keep one copy.
                    self.pages
                        .iter()
                        .filter_map(OnceLock::get)
                        .filter_map(|pages| pages.get(number)?.get())
                        .find(|page| ***page == *text.as_bytes())
                        .map_or_else(|| text.into(), Bytes::clone)
                })
                .clone(),
        }
    }

    /// Returns up to `size` enabled entries from `start` for which `shows` returns `true`.
    pub(crate) fn part(&self, start: usize, size: usize, shows: impl Fn(&E) -> bool) -> TableRange {
        let places = start..self.visible.len();
        let mut places = places.filter(|place| self.at(*place).is_some_and(|at| shows(&at.entry)));
        TableRange {
            places: places.by_ref().take(size).collect(),
            more: places.next().is_some(),
        }
    }

    /// Returns the members of a page, with `cursor` after its last entry if there are more.
    pub(crate) fn members(
        &self,
        part: &TableRange,
        version: ProtocolVersion,
        cursor: impl Fn(&TableEntry<E>) -> String,
    ) -> String {
        let mut text = format!("\"{}\":[", E::MEMBER);
        text.push_str(&self.items(part, version));
        text.push(']');
        let last = part.places.last().and_then(|place| self.at(*place));
        if let Some(last) = last.filter(|_| part.more) {
            text.push_str(",\"nextCursor\":\"");
            text.push_str(&cursor(last));
            text.push('"');
        }
        text
    }

    /// Returns the entries of a part in the shape of `version`, separated by commas.
    pub(crate) fn items(&self, part: &TableRange, version: ProtocolVersion) -> String {
        let mut text = String::new();
        let rendered = self.items.get(version as usize).filter(|_| self.restricted);
        let rendered = rendered.map(|items| items.get_or_init(|| self.render(version)));
        for place in &part.places {
            match rendered.and_then(|items| items.get(*place)) {
                Some(item) => push(&mut text, item),
                None => {
                    if let Some(slot) = self.at(*place) {
                        append(&mut text, slot.entry.wire().clone(), version);
                    }
                }
            }
        }
        text
    }

    /// Renders all enabled entries in the shape of `version`.
    fn render(&self, version: ProtocolVersion) -> Box<[Arc<str>]> {
        let known = || self.items.iter().filter_map(OnceLock::get);
        let render = |(place, slot): (usize, &TableEntry<E>)| {
            let mut text = String::new();
            append(&mut text, slot.entry.wire().clone(), version);
            // Most protocol versions have the same entry: keep one copy.
            known()
                .filter_map(|items| items.get(place))
                .find(|item| ***item == *text)
                .map_or_else(|| text.as_str().into(), Arc::clone)
        };
        self.visible().enumerate().map(render).collect()
    }

    /// Returns the enabled entry at this position among the enabled ones.
    fn at(&self, place: usize) -> Option<&TableEntry<E>> {
        self.slots.get(*self.visible.get(place)?)
    }
}

/// Sorts by key. Indexes are sorted, so that the code is shared by entries of all kinds.
fn in_order<E>(slots: Vec<TableEntry<E>>) -> Vec<TableEntry<E>> {
    let keys = slots.iter().map(|slot| slot.key.clone());
    let mut keys: Vec<(OrderKey, usize)> = keys.zip(0..).collect();
    keys.sort();
    let mut slots: Vec<_> = slots.into_iter().map(Some).collect();
    let places = keys.into_iter().map(|(_, place)| place);
    places
        .filter_map(|place| slots.get_mut(place)?.take())
        .collect()
}

/// Some of the enabled entries, in order.
#[derive(Debug)]
pub(crate) struct TableRange {
    /// Their positions among the enabled entries.
    places: Vec<usize>,
    /// `true` if more entries follow.
    pub(crate) more: bool,
}

impl TableRange {
    /// Returns the number of entries.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }
}

/// Appends an item to a JSON array under construction, in the shape of `version`.
pub(crate) fn append<T: Shape + serde::Serialize>(
    text: &mut String,
    mut item: T,
    version: ProtocolVersion,
) {
    item.shape(version);
    match serde_json::to_string(&item) {
        Ok(item) => push(text, &one_line(&item)),
        // Serialization cannot fail for a type whose keys are all strings; dropping one item is better than losing the
        // list.
        Err(error) => tracing::error!(%error, "a definition cannot be serialized as JSON"),
    }
}

/// Appends an item that is already JSON.
fn push(text: &mut String, item: &str) {
    if !text.is_empty() && !item.is_empty() {
        text.push(',');
    }
    text.push_str(item);
}

/// Returns a number that represents a name in a cursor: the same in all instances.
pub(crate) fn fingerprint(name: &str) -> u64 {
    fnv(name.as_bytes())
}
