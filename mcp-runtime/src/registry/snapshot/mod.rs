//! All definitions at one time, which no longer change. A request sees them through a [`View`].

mod lists;
mod readable;
#[cfg(test)]
mod tests;
mod view;

#[cfg(feature = "auth")]
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::context::{Caller, Capability};
use crate::registry::entry::{ListEntry, PromptEntry, ResourceEntry, TemplateEntry, ToolEntry};
use crate::registry::table::EntryTable;
pub(crate) use readable::Readable;
pub(crate) use view::View;

/// All definitions at one time. Tables are shared with earlier and later snapshots.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(super) tools: Arc<EntryTable<ToolEntry>>,
    pub(super) prompts: Arc<EntryTable<PromptEntry>>,
    pub(super) resources: Arc<EntryTable<ResourceEntry>>,
    pub(super) templates: Arc<EntryTable<TemplateEntry>>,
    /// Maximum number of items on a page.
    pub(super) page_size: usize,
    /// The declared lists, by [`List`]. A list stays declared when it becomes empty.
    pub(super) offered: [bool; 4],
    /// `true` if completions are declared. They stay declared, like lists.
    pub(super) completes: bool,
}

impl Snapshot {
    /// Returns the view of this caller.
    pub(crate) fn seen_by<'a>(&'a self, caller: &'a Caller) -> View<'a> {
        View {
            snapshot: self,
            caller,
        }
    }

    /// Returns `true` if the contents of a list depend on the caller. The list of resources includes those from templates.
    pub(crate) fn is_filtered(&self, list: Capability) -> bool {
        match list {
            Capability::Tools => self.tools.is_restricted(),
            Capability::Prompts => self.prompts.is_restricted(),
            Capability::Resources => {
                self.resources.is_restricted() || self.templates.is_restricted()
            }
            Capability::Templates => self.templates.is_restricted(),
        }
    }

    /// Returns the name or URI of a definition that requires scopes, if there is one.
    #[cfg(feature = "http")]
    pub(crate) fn needs_scopes(&self) -> Option<&str> {
        fn first<E: ListEntry>(table: &EntryTable<E>) -> Option<&str> {
            let mut entries = table.slots().iter().map(|slot| &slot.entry);
            let first = entries.find(|entry| entry.access().needs_scopes())?;
            Some(first.found_by())
        }
        first(&self.tools)
            .or_else(|| first(&self.prompts))
            .or_else(|| first(&self.resources))
            .or_else(|| first(&self.templates))
    }

    /// Returns all scopes required by definitions that are enabled and not hidden from some callers, sorted.
    #[cfg(feature = "auth")]
    pub(crate) fn scopes(&self) -> BTreeSet<String> {
        fn add<E: ListEntry>(scopes: &mut BTreeSet<String>, table: &EntryTable<E>) {
            let open = table.visible().map(|slot| slot.entry.access());
            for access in open.filter(|access| !access.is_hidden_from_some()) {
                scopes.extend(access.scopes().map(str::to_owned));
            }
        }
        let mut scopes = BTreeSet::new();
        add(&mut scopes, &self.tools);
        add(&mut scopes, &self.prompts);
        add(&mut scopes, &self.resources);
        add(&mut scopes, &self.templates);
        scopes
    }

    /// Returns the names of enabled definitions, in order.
    pub(crate) fn names(&self, list: Capability) -> Vec<String> {
        fn names<E: ListEntry>(table: &EntryTable<E>) -> Vec<String> {
            table
                .visible()
                .map(|slot| slot.entry.found_by().to_owned())
                .collect()
        }
        match list {
            Capability::Tools => names(&self.tools),
            Capability::Prompts => names(&self.prompts),
            Capability::Resources => names(&self.resources),
            Capability::Templates => names(&self.templates),
        }
    }

    /// Returns `true` if tools are declared: if there are any, enabled or not, or have been, or may be later.
    pub(crate) fn has_tools(&self) -> bool {
        self.offers(Capability::Tools)
    }

    /// Returns `true` if prompts are declared.
    pub(crate) fn has_prompts(&self) -> bool {
        self.offers(Capability::Prompts)
    }

    /// Returns `true` if resources or templates are declared.
    pub(crate) fn has_resources(&self) -> bool {
        self.offers(Capability::Resources) || self.offers(Capability::Templates)
    }

    fn offers(&self, list: Capability) -> bool {
        self.offered.get(list as usize).copied().unwrap_or_default()
    }

    /// Declares the lists that have items, and completions if there are any.
    pub(super) fn offer_what_is_there(&mut self) {
        let there = [
            (Capability::Tools, !self.tools.slots().is_empty()),
            (Capability::Prompts, !self.prompts.slots().is_empty()),
            (Capability::Resources, !self.resources.slots().is_empty()),
            (Capability::Templates, !self.templates.slots().is_empty()),
        ];
        for (list, there) in there {
            if let Some(offered) = self.offered.get_mut(list as usize) {
                *offered |= there;
            }
        }
        self.completes = self.completes
            || self
                .prompts
                .slots()
                .iter()
                .any(|slot| slot.entry.completions.any())
            || self
                .templates
                .slots()
                .iter()
                .any(|slot| slot.entry.completions.any());
    }

    /// Returns `true` if completions are declared: an argument of a prompt or template has, or has had, completions.
    pub(crate) fn has_completers(&self) -> bool {
        self.completes
    }
}
