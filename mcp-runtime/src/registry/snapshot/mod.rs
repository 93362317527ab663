//! Everything offered at one time: definitions that do not change any more. What a request sees of them is a [`View`].

mod lists;
mod readable;
#[cfg(test)]
mod tests;
mod view;

#[cfg(feature = "auth")]
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::context::{Caller, List};
use crate::registry::entry::{Entry, PromptEntry, ResourceEntry, TemplateEntry, ToolEntry};
use crate::registry::table::Table;
pub(crate) use readable::Readable;
pub(crate) use view::View;

/// Everything offered at one time. Tables are shared with the snapshots before and after.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(super) tools: Arc<Table<ToolEntry>>,
    pub(super) prompts: Arc<Table<PromptEntry>>,
    pub(super) resources: Arc<Table<ResourceEntry>>,
    pub(super) templates: Arc<Table<TemplateEntry>>,
    /// Most items of a page.
    pub(super) page_size: usize,
    /// Which lists clients were or will be told of, by [`List`]. A list stays offered when it becomes empty.
    pub(super) offered: [bool; 4],
    /// Clients were or will be told of completions, which stay offered like lists.
    pub(super) completes: bool,
}

impl Snapshot {
    /// What this caller sees of it.
    pub(crate) fn seen_by<'a>(&'a self, caller: &'a Caller) -> View<'a> {
        View {
            snapshot: self,
            caller,
        }
    }

    /// Whether what is in a list depends on who asks. Resources are also those that templates list.
    pub(crate) fn is_filtered(&self, list: List) -> bool {
        match list {
            List::Tools => self.tools.is_restricted(),
            List::Prompts => self.prompts.is_restricted(),
            List::Resources => self.resources.is_restricted() || self.templates.is_restricted(),
            List::Templates => self.templates.is_restricted(),
        }
    }

    /// Something that needs scopes, by its name or address, if there is anything.
    #[cfg(feature = "http")]
    pub(crate) fn needs_scopes(&self) -> Option<&str> {
        fn first<E: Entry>(table: &Table<E>) -> Option<&str> {
            let mut entries = table.slots().iter().map(|slot| &slot.entry);
            let first = entries.find(|entry| entry.access().needs_scopes())?;
            Some(first.found_by())
        }
        first(&self.tools)
            .or_else(|| first(&self.prompts))
            .or_else(|| first(&self.resources))
            .or_else(|| first(&self.templates))
    }

    /// All scopes that anything needs which is switched on, and which not only some may know of, in order.
    #[cfg(feature = "auth")]
    pub(crate) fn scopes(&self) -> BTreeSet<String> {
        fn add<E: Entry>(scopes: &mut BTreeSet<String>, table: &Table<E>) {
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

    /// The names of what is enabled, in order.
    pub(crate) fn names(&self, list: List) -> Vec<String> {
        fn names<E: Entry>(table: &Table<E>) -> Vec<String> {
            table
                .visible()
                .map(|slot| slot.entry.found_by().to_owned())
                .collect()
        }
        match list {
            List::Tools => names(&self.tools),
            List::Prompts => names(&self.prompts),
            List::Resources => names(&self.resources),
            List::Templates => names(&self.templates),
        }
    }

    /// Whether tools are offered: there are some, enabled or not, or were, or may come.
    pub(crate) fn has_tools(&self) -> bool {
        self.offers(List::Tools)
    }

    /// Whether prompts are offered.
    pub(crate) fn has_prompts(&self) -> bool {
        self.offers(List::Prompts)
    }

    /// Whether resources or templates are offered.
    pub(crate) fn has_resources(&self) -> bool {
        self.offers(List::Resources) || self.offers(List::Templates)
    }

    fn offers(&self, list: List) -> bool {
        self.offered.get(list as usize).copied().unwrap_or_default()
    }

    /// Offers the lists in which there is something, and completions if there are any.
    pub(super) fn offer_what_is_there(&mut self) {
        let there = [
            (List::Tools, !self.tools.slots().is_empty()),
            (List::Prompts, !self.prompts.slots().is_empty()),
            (List::Resources, !self.resources.slots().is_empty()),
            (List::Templates, !self.templates.slots().is_empty()),
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

    /// Returns `true` if completions are offered: an argument of a prompt or template completes, or did.
    pub(crate) fn has_completers(&self) -> bool {
        self.completes
    }
}
