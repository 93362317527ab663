//! Selects definitions by tag, and checks that selected tags exist.
//!
//! The server's own selection is applied when a snapshot is created. A request's selection narrows its view.

use std::sync::Arc;

use super::Snapshot;
use super::view::CallerView;
use crate::context::Capability;
use crate::handler::tags::{TagSelection, UnknownTag};
use crate::order::set_of;
use crate::registry::callable::{Callable, ItemDetails};
use crate::registry::table::{CallableTable, TableSlot};

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
    pub(super) fn is_selected(&self, callable: &Callable) -> bool {
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
