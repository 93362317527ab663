//! Editors for the lists of a running server, and the edits that they make.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::context::capability::Capability;
use crate::context::handle::ServerControl;
use crate::error::Error;
use crate::handler::dynamic::{DynamicItem, DynamicTool, ItemKind};

/// Edits one of a running server's lists. Clients that are subscribed to the list are notified automatically, but only
/// if the list has actually changed.
///
/// Running calls are not affected: they finish with the definition they started with.
///
/// Edits made before the server starts are only recorded. They are checked and applied when the server starts; until
/// then, [`names`](Self::names) returns an empty list.
#[derive(Clone)]
pub struct Editor<D> {
    control: Arc<dyn ServerControl>,
    kind: PhantomData<fn(D)>,
}

impl<D: ItemKind> Editor<D> {
    pub(crate) fn new(control: &Arc<dyn ServerControl>) -> Self {
        Self {
            control: Arc::clone(control),
            kind: PhantomData,
        }
    }

    /// Adds a definition.
    ///
    /// # Errors
    ///
    /// Returns [`Duplicate`](crate::ErrorKind::Duplicate) if the name is taken, even by a disabled definition, or
    /// [`Configuration`](crate::ErrorKind::Configuration) with a list of all mistakes if the definition is invalid.
    pub fn insert(&self, definition: D) -> Result<(), Error> {
        self.apply(EditStep::Insert(definition.into_item()))
            .map(drop)
    }

    /// Replaces the definition with the same name or, if no such definition exists, adds a new one. The new definition
    /// is enabled.
    ///
    /// # Errors
    ///
    /// Returns [`Configuration`](crate::ErrorKind::Configuration) with a list of all mistakes if the definition is
    /// invalid.
    pub fn replace(&self, definition: D) -> Result<(), Error> {
        self.apply(EditStep::Replace(definition.into_item()))
            .map(drop)
    }

    /// Removes a definition, whether it was added dynamically or by a macro. Returns `true` if the definition existed.
    ///
    /// Before the server starts, this always returns `true`, and an unknown name causes an error at start-up.
    #[allow(clippy::must_use_candidate, reason = "callers need not use the result")]
    pub fn remove(&self, name: &str) -> bool {
        self.apply(EditStep::Remove(name.into())).unwrap_or(false)
    }

    /// Enables a disabled definition. Returns `true` if this changed the list.
    ///
    /// Before the server starts, this always returns `true`, and an unknown name causes an error at start-up.
    #[allow(clippy::must_use_candidate, reason = "callers need not use the result")]
    pub fn enable(&self, name: &str) -> bool {
        self.apply(EditStep::Enable(name.into())).unwrap_or(false)
    }

    /// Disables a definition so that clients cannot see or use it. Returns `true` if this changed the list.
    ///
    /// Before the server starts, this always returns `true`, and an unknown name causes an error at start-up, because
    /// otherwise a misspelled name would leave a definition enabled.
    #[allow(clippy::must_use_candidate, reason = "callers need not use the result")]
    pub fn disable(&self, name: &str) -> bool {
        self.apply(EditStep::Disable(name.into())).unwrap_or(false)
    }

    /// Returns the names of all enabled definitions, in the order of the list.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.control.names(D::LIST)
    }

    /// Makes several changes atomically, with a single notification.
    ///
    /// Returns `true` if the list changed.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`insert`](Self::insert), for the first definition that is rejected.
    pub fn edit(&self, changes: impl FnOnce(&mut ListEdit<D>)) -> Result<bool, Error> {
        let mut batch = ListEdit {
            steps: Vec::new(),
            kind: PhantomData,
        };
        changes(&mut batch);
        self.control.edit(Edit {
            list: D::LIST,
            steps: batch.steps,
        })
    }

    fn apply(&self, step: EditStep) -> Result<bool, Error> {
        self.control.edit(Edit {
            list: D::LIST,
            steps: vec![step],
        })
    }
}

impl<D: ItemKind> fmt::Debug for Editor<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Editor")
            .field("list", &D::LIST)
            .finish_non_exhaustive()
    }
}

/// Changes collected by [`Editor::edit`] and applied together, in order.
pub struct ListEdit<D> {
    steps: Vec<EditStep>,
    kind: PhantomData<fn(D)>,
}

impl<D: ItemKind> ListEdit<D> {
    /// Adds a definition. If the name is taken, the whole edit fails.
    pub fn insert(&mut self, definition: D) -> &mut Self {
        self.step(EditStep::Insert(definition.into_item()))
    }

    /// Replaces the definition with the same name or, if no such definition exists, adds a new one.
    pub fn replace(&mut self, definition: D) -> &mut Self {
        self.step(EditStep::Replace(definition.into_item()))
    }

    /// Removes a definition, if it exists.
    pub fn remove(&mut self, name: impl Into<String>) -> &mut Self {
        self.step(EditStep::Remove(name.into()))
    }

    /// Enables a disabled definition.
    pub fn enable(&mut self, name: impl Into<String>) -> &mut Self {
        self.step(EditStep::Enable(name.into()))
    }

    /// Disables a definition.
    pub fn disable(&mut self, name: impl Into<String>) -> &mut Self {
        self.step(EditStep::Disable(name.into()))
    }

    fn step(&mut self, step: EditStep) -> &mut Self {
        self.steps.push(step);
        self
    }
}

impl<D: ItemKind> fmt::Debug for ListEdit<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListEdit")
            .field("list", &D::LIST)
            .field("steps", &self.steps.len())
            .finish_non_exhaustive()
    }
}

/// Changes to a single list, which are applied together or not at all.
#[derive(Debug)]
pub(crate) struct Edit {
    pub(crate) list: Capability,
    pub(crate) steps: Vec<EditStep>,
}

impl Edit {
    /// Returns the tags on the definitions that the edit inserts.
    pub(crate) fn tags(&self) -> impl Iterator<Item = &str> {
        let items = self.steps.iter().filter_map(|step| match step {
            EditStep::Insert(item) | EditStep::Replace(item) => Some(item),
            EditStep::Remove(_) | EditStep::Enable(_) | EditStep::Disable(_) => None,
        });
        items.flat_map(DynamicItem::tags)
    }
}

/// One change to a list.
#[derive(Debug)]
pub(crate) enum EditStep {
    Insert(DynamicItem),
    Replace(DynamicItem),
    Remove(String),
    Enable(String),
    Disable(String),
}

impl EditStep {
    /// Returns the tool that the step inserts, if it inserts one.
    pub(crate) fn inserted_tool(&self) -> Option<&DynamicTool> {
        match self {
            Self::Insert(DynamicItem::Tool(tool)) | Self::Replace(DynamicItem::Tool(tool)) => {
                Some(tool)
            }
            _ => None,
        }
    }
}
