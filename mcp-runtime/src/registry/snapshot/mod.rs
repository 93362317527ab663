//! An immutable snapshot of all definitions. Requests are served through a [`CallerView`] of it.

#[cfg(test)]
mod tests;
mod view;

#[cfg(feature = "auth")]
use std::collections::BTreeSet;

use std::sync::Arc;

use crate::context::{Caller, Capability};
use crate::fnv::fnv;
use crate::registry::table::CallableTable;

pub(crate) use view::{CallerView, ToolGroup, ToolPart};

/// All definitions at a particular point in time. Unchanged tables are shared with earlier and later snapshots.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(super) tools: Arc<CallableTable>,
    pub(super) prompts: Arc<CallableTable>,
    pub(super) resources: Arc<CallableTable>,
    pub(super) templates: Arc<CallableTable>,
    /// Maximum number of items on a page.
    pub(super) page_size: usize,
}

impl Snapshot {
    /// Returns the snapshot as seen by the given caller.
    pub(crate) fn seen_by<'a>(&'a self, caller: &'a Caller) -> CallerView<'a> {
        CallerView {
            snapshot: self,
            caller,
            selection: None,
        }
    }

    /// Returns the callables of a list.
    pub(super) fn table(&self, list: Capability) -> &Arc<CallableTable> {
        match list {
            Capability::Tools => &self.tools,
            Capability::Prompts => &self.prompts,
            Capability::Resources => &self.resources,
            Capability::Templates => &self.templates,
        }
    }

    /// Returns a mutable reference to the callables of a list, so that they can be replaced.
    pub(super) fn table_mut(&mut self, list: Capability) -> &mut Arc<CallableTable> {
        match list {
            Capability::Tools => &mut self.tools,
            Capability::Prompts => &mut self.prompts,
            Capability::Resources => &mut self.resources,
            Capability::Templates => &mut self.templates,
        }
    }

    /// Returns a hash of the lists of tools, prompts and resources, which is the same in all processes that serve the same
    /// definitions.
    pub(crate) fn digest(&self) -> u64 {
        let digests = self.tables().map(|table| table.digest().to_ne_bytes());
        fnv(digests.as_flattened())
    }

    fn tables(&self) -> [&CallableTable; 4] {
        [&self.tools, &self.prompts, &self.resources, &self.templates]
    }

    /// Returns `true` if the contents of a list depend on the caller. If the list of templates depends on the caller,
    /// so does the list of resources.
    fn is_restricted(&self, list: Capability) -> bool {
        self.table(list).is_restricted()
            || (list == Capability::Resources && self.templates.is_restricted())
    }

    /// Returns the name or URI of a definition that requires scopes, if any.
    pub(crate) fn needs_scopes(&self) -> Option<&str> {
        let mut slots = self.tables().into_iter().flat_map(CallableTable::slots);
        let first = slots.find(|slot| slot.callable.access.needs_scopes())?;
        Some(&first.callable.name)
    }

    /// Returns the scopes required by all definitions that are served and not hidden from any caller, sorted.
    #[cfg(feature = "auth")]
    pub(crate) fn scopes(&self) -> BTreeSet<String> {
        let visible = self.tables().into_iter().flat_map(CallableTable::visible);
        visible
            .map(|slot| &slot.callable.access)
            .filter(|access| !access.is_hidden_from_some())
            .flat_map(|access| access.required_scopes().map(str::to_owned))
            .collect()
    }

    /// Returns the names of enabled definitions in order, whether or not they are selected.
    pub(crate) fn names(&self, list: Capability) -> Vec<String> {
        let enabled = self.table(list).slots().iter().filter(|slot| slot.enabled);
        enabled.map(|slot| (*slot.callable.name).into()).collect()
    }

    /// Returns `true` if tools are declared, that is, if the server has, has had or may later have tools, even if they
    /// are disabled.
    pub(crate) fn has_tools(&self) -> bool {
        self.tools.is_offered()
    }

    /// Returns `true` if an argument of any tool is mirrored in an HTTP header.
    pub(crate) fn mirrors_arguments(&self) -> bool {
        self.tools.mirrors_arguments()
    }

    /// Returns `true` if prompts are declared.
    pub(crate) fn has_prompts(&self) -> bool {
        self.prompts.is_offered()
    }

    /// Returns `true` if resources or templates are declared.
    pub(crate) fn has_resources(&self) -> bool {
        self.resources.is_offered() || self.templates.is_offered()
    }

    /// Returns `true` if completions are declared, that is, if an argument of a prompt or template has or has had
    /// completions.
    pub(crate) fn has_completers(&self) -> bool {
        self.prompts.has_completions() || self.templates.has_completions()
    }
}
