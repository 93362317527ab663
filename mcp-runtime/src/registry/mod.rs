//! Everything a server offers: definitions and their handlers, validated once, changed copy-on-write.
//!
//! [`Registry::build`] gathers annotated functions and dynamic definitions and reports everything that is wrong with them
//! together. What a request sees is a [`Snapshot`], which never changes; an edit makes a new one. Running handlers, and
//! telling clients of changes, is left to `dispatch`.

mod build;
mod complete;
mod cursor;
mod declared;
mod dynamic;
mod edit;
mod entry;
#[cfg(test)]
pub(crate) mod fixture;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod guards;
mod handler;
mod meta;
mod outputs;
mod page;
mod snapshot;
mod table;

use std::sync::{Arc, Mutex, PoisonError, RwLock};

pub(crate) use build::{Receiver, Sources};
pub(crate) use complete::Completing;
pub(crate) use edit::Edited;
pub(crate) use entry::{Pace, PromptEntry, ToolEntry};
pub(crate) use guards::{Guards, Place, Places};
pub(crate) use handler::Started;
pub(crate) use page::{Listing, Page};
pub(crate) use snapshot::{Readable, Snapshot, View};

use crate::context::Edit;
use crate::error::{Error, ErrorKind};

/// What is offered now.
pub(crate) struct Registry {
    current: RwLock<Arc<Snapshot>>,
    /// Held while a change is made, so that none is lost. Readers do not take it.
    editing: Mutex<()>,
}

impl Registry {
    /// Gathers and checks everything.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, one problem per line, each with its place in the source.
    pub(crate) fn build(sources: Sources) -> Result<Self, Error> {
        build::snapshot(sources).map(Self::new)
    }

    fn new(snapshot: Snapshot) -> Self {
        Self {
            current: RwLock::new(Arc::new(snapshot)),
            editing: Mutex::new(()),
        }
    }

    /// What is offered now. A request keeps the snapshot it started with.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&current)
    }

    /// Makes all changes of `edit`, or none. If callers see another list, `edit.list.kind()` says which notification is due.
    ///
    /// # Errors
    ///
    /// The first definition that cannot be taken: its name is taken, or something is wrong with it.
    pub(crate) fn edit(&self, edit: Edit) -> Result<Edited, Error> {
        let prepared = edit::prepare(edit)
            .map_err(|problems| Error::new(ErrorKind::Configuration, problems.join("\n")))?;
        let _editing = self.editing.lock().unwrap_or_else(PoisonError::into_inner);
        let (next, edited) = edit::apply(&self.snapshot(), prepared)?;
        let former = {
            let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *current, Arc::new(next))
        };
        // Outside of the lock: it may be the last that holds what was taken away.
        drop(former);
        Ok(edited)
    }
}
