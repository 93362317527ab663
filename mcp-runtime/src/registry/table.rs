//! One kind of entry: found by name, kept in one stable order, its list pages rendered once.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use crate::fnv::{FnvMap, fnv};
use crate::protocol::ProtocolVersion;
use crate::protocol::shape::Shape;
use crate::registry::cursor::Mark;
use crate::registry::entry::Entry;

/// The place of an entry in the order of its list. The same in every instance of a program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    /// Annotated functions first: the number of the definition in the program.
    Declared(u32),
    /// Then what was inserted at run time, by name, whatever the order of insertion.
    Inserted(Arc<str>),
}

/// An entry in its place.
#[derive(Debug)]
pub(crate) struct Slot<E> {
    pub(crate) key: Key,
    pub(crate) entry: Arc<E>,
    pub(crate) enabled: bool,
}

impl<E> Clone for Slot<E> {
    fn clone(&self) -> Self {
        Self {
            key: self.key.clone(),
            entry: Arc::clone(&self.entry),
            enabled: self.enabled,
        }
    }
}

/// All entries of a kind. Never changes; an edit makes another one.
#[derive(Debug)]
pub(crate) struct Table<E> {
    /// In order.
    slots: Vec<Slot<E>>,
    /// Where each name is in `slots`.
    names: FnvMap<Box<str>, usize>,
    /// Where the enabled ones are in `slots`.
    visible: Vec<usize>,
    /// Rendered pages by revision, and by number when they start at a multiple of the page size.
    pages: [OnceLock<Pages>; ProtocolVersion::ALL.len()],
}

type Pages = Box<[OnceLock<Bytes>]>;

impl<E: Entry> Table<E> {
    /// A table of these, in any order. Of entries with the same name one is lost; check before.
    pub(crate) fn new(mut slots: Vec<Slot<E>>) -> Self {
        slots.sort_by(|a, b| a.key.cmp(&b.key));
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
        Self {
            slots,
            names,
            visible,
            pages: Default::default(),
        }
    }

    /// The enabled entry of this name.
    pub(crate) fn get(&self, name: &str) -> Option<&Arc<E>> {
        self.slot(name)
            .filter(|slot| slot.enabled)
            .map(|slot| &slot.entry)
    }

    /// The entry of this name, enabled or not.
    pub(crate) fn slot(&self, name: &str) -> Option<&Slot<E>> {
        self.slots.get(*self.names.get(name)?)
    }

    /// Every entry, enabled or not, in order.
    pub(crate) fn slots(&self) -> &[Slot<E>] {
        &self.slots
    }

    /// The enabled entries, in order.
    pub(crate) fn visible(&self) -> impl Iterator<Item = &Slot<E>> {
        self.visible
            .iter()
            .filter_map(|index| self.slots.get(*index))
    }

    /// How many are enabled.
    pub(crate) fn len(&self) -> usize {
        self.visible.len()
    }

    /// How many of the enabled entries come up to and including the marked one, or where it would be.
    pub(crate) fn after(&self, mark: &Mark) -> usize {
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

    /// The members of the page of `size` enabled entries from `start`, and those behind it if there are any.
    ///
    /// `cursor` makes the text that leads on after an entry.
    pub(crate) fn page(
        &self,
        start: usize,
        size: usize,
        version: ProtocolVersion,
        cursor: impl Fn(&Slot<E>) -> String,
    ) -> Bytes {
        let render = || {
            let last = self
                .visible()
                .nth(start.saturating_add(size).wrapping_sub(1));
            let more = self.visible.len() > start.saturating_add(size);
            let mut text = format!("\"{}\":[", E::MEMBER);
            text.push_str(&self.items(start, size, version));
            text.push(']');
            if let Some(last) = last.filter(|_| more) {
                text.push_str(",\"nextCursor\":\"");
                text.push_str(&cursor(last));
                text.push('"');
            }
            text
        };
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
                    // Most revisions see the same page: keep one copy.
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

    /// Up to `size` enabled entries from `start`, as `version` sees them, with commas between.
    pub(crate) fn items(&self, start: usize, size: usize, version: ProtocolVersion) -> String {
        let mut text = String::new();
        for slot in self.visible().skip(start).take(size) {
            append(&mut text, slot.entry.wire().clone(), version);
        }
        text
    }
}

/// Adds an item to a JSON array under way, as `version` sees it.
pub(crate) fn append<T: Shape + serde::Serialize>(
    text: &mut String,
    mut item: T,
    version: ProtocolVersion,
) {
    item.shape(version);
    match serde_json::to_string(&item) {
        Ok(item) => {
            if !text.is_empty() {
                text.push(',');
            }
            text.push_str(&item);
        }
        // A wire type whose keys are all strings does not fail; leaving one out beats losing the list.
        Err(error) => tracing::error!(%error, "a definition cannot be written as JSON"),
    }
}

/// A number that stands for a name in a cursor: the same everywhere.
pub(crate) fn fingerprint(name: &str) -> u64 {
    fnv(name.as_bytes())
}
