//! Gathers annotated functions and dynamic definitions into the first snapshot, and reports everything that is wrong.

use std::any::{Any, TypeId, type_name};
use std::sync::Arc;

use crate::context::States;
use crate::error::Error;
use crate::handler::definition::Selected;
use crate::handler::dynamic::Item;
use crate::registry::snapshot::Snapshot;

/// What a server is made from.
#[derive(Debug)]
pub(crate) struct Sources {
    /// Functions chosen one by one; `None` if nobody chose.
    pub(crate) only: Option<Vec<Selected>>,
    /// Groups chosen by name. With neither these nor `only`, everything linked in is served.
    pub(crate) groups: Vec<String>,
    /// Values whose methods are served.
    pub(crate) receivers: Vec<Receiver>,
    /// Shared state, to be checked against what handlers ask for.
    pub(crate) states: Arc<States>,
    /// Definitions made at run time.
    pub(crate) dynamic: Vec<Item>,
    /// Most items of a list page.
    pub(crate) page_size: usize,
}

impl Default for Sources {
    fn default() -> Self {
        Self {
            only: None,
            groups: Vec::new(),
            receivers: Vec::new(),
            states: Arc::default(),
            dynamic: Vec::new(),
            page_size: 1_000,
        }
    }
}

/// A value whose methods are served.
#[derive(Clone)]
pub(crate) struct Receiver {
    kind: TypeId,
    name: &'static str,
    value: Arc<dyn Any + Send + Sync>,
}

impl Receiver {
    pub(crate) fn new<T: Send + Sync + 'static>(value: Arc<T>) -> Self {
        Self {
            kind: TypeId::of::<T>(),
            name: type_name::<T>(),
            value,
        }
    }
}

impl std::fmt::Debug for Receiver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Receiver").field(&self.name).finish()
    }
}

pub(super) fn snapshot(sources: Sources) -> Result<Snapshot, Error> {
    let _ = sources;
    todo!()
}
