//! The running server, as handlers and background tasks see it.

use std::sync::Arc;

use crate::error::Error;
use crate::protocol::encode::ListKind;

/// A running server: send change notices, change what is registered, stop it. Cheap to clone.
#[derive(Clone)]
pub struct ServerHandle(pub(crate) Arc<dyn Control>);

impl std::fmt::Debug for ServerHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerHandle").finish_non_exhaustive()
    }
}

/// Something clients may want to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    List(ListKind),
    Resource(String),
}

/// A change of what is registered.
#[derive(Debug)]
pub(crate) enum Edit {}

/// What a handle can make the server do; implemented by `dispatch`.
pub(crate) trait Control: Send + Sync {
    fn notify(&self, change: Change);
    fn edit(&self, edit: Edit) -> Result<bool, Error>;
    fn shut_down(&self);
}
