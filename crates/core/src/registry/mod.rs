//! A server's registry of definitions and their handlers. Definitions are validated once, and changes are
//! copy-on-write.
//!
//! [`Registry::build`] gathers annotated functions and dynamic definitions and reports all problems together. Each
//! request is served from a [`Snapshot`] that never changes; an edit creates a new one. `dispatch` runs the handlers
//! and notifies clients of changes.

mod build;
mod callable;
mod cursor;
mod declared;
mod draft;
mod dynamic;
mod edit;
#[cfg(test)]
pub(crate) mod fixture;
#[cfg(fuzzing)]
pub mod fuzzing;
mod snapshot;
mod source;
mod table;

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crate::context::{Caller, Edit};
use crate::error::{Error, ErrorKind};
use crate::handler::tags::{TagSelection, UnknownTag};
use crate::sync::lock;

pub use build::{MethodReceiver, Sources, selected_options};
pub use callable::{
    CallPermit, CallPermits, Callable, FINDINGS, FirstPollPace, HandlerGuards, HandlerProgress,
    ItemDetails, OutputChecker, RequestedCompleter,
};
pub use cursor::{CursorSeal, INNER as MAX_LISTER_CURSOR_BYTES, SealedCursors, source_cursor};
pub use declared::{NameReservation, ServerRules, meta_key_problem};
pub(crate) use dynamic::{built_in_template, method_callable};
pub(crate) use edit::EditOutcome;
pub use mcp_schema::suggest::words;
pub use snapshot::{CallerView, Snapshot, ToolPart};
pub(crate) use source::NamedSource;
pub use source::{SourceAnswer, SourceRequest, SourceTool, ToolSource};
pub(crate) use table::{ListPage, PageWalk, PartialPage, with_origin};

/// The current definitions.
pub struct Registry {
    current: RwLock<Arc<Snapshot>>,
    /// Held during an edit so that concurrent edits are not lost. Readers do not lock it.
    editing: Mutex<()>,
    /// The rules for definitions that are inserted later.
    rules: Arc<ServerRules>,
}

impl Registry {
    /// Gathers and checks all definitions.
    ///
    /// # Errors
    ///
    /// Returns all problems, each on its own line and with its source location.
    pub fn build(sources: Sources) -> Result<Self, Error> {
        let rules = Arc::clone(&sources.rules);
        build::snapshot(sources).map(|snapshot| Self::new(snapshot, rules))
    }

    fn new(snapshot: Snapshot, rules: Arc<ServerRules>) -> Self {
        Self {
            rules,
            current: RwLock::new(Arc::new(snapshot)),
            editing: Mutex::new(()),
        }
    }

    /// Returns the current definitions. A request keeps the snapshot with which it started.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&current)
    }

    /// Returns an error if a tag in the selection is unknown, that is, if no definition visible to this caller has it
    /// and the server does not describe it.
    pub(crate) fn check_tags(
        &self,
        selection: &TagSelection,
        caller: &Caller,
    ) -> Result<(), UnknownTag> {
        let snapshot = self.snapshot();
        let described = self.rules.described_tags.iter().map(String::as_str);
        snapshot.seen_by(caller).check_tags(selection, described)
    }

    /// Applies either all changes in `edit` or none. If the list changes for any caller, `edit.list.kind()` is the
    /// notification to send.
    ///
    /// # Errors
    ///
    /// Returns an error if a definition cannot be inserted because its name is already in use or the definition is
    /// invalid. The error describes the first such definition.
    pub(crate) fn edit(&self, edit: Edit) -> Result<EditOutcome, Error> {
        let prepared = edit::prepare(edit, &self.rules)
            .map_err(|problems| Error::new(ErrorKind::Configuration, problems.join("\n")))?;
        let _editing = lock(&self.editing);
        let (next, edited) = edit::apply(&self.snapshot(), prepared, &self.rules)?;
        let former = {
            let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *current, Arc::new(next))
        };
        // The previous snapshot is dropped outside the lock, because it may be the last owner of removed definitions.
        drop(former);
        Ok(edited)
    }
}
