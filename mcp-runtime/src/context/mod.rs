//! What a handler receives: the context of its call, shared state, the running server.

pub(crate) mod current;
mod from_context;
mod handle;
mod request;
mod state;

pub use from_context::FromContext;
pub use handle::{Batch, Editor, List, Notifier, ServerHandle};
pub(crate) use handle::{Change, Control, Edit, Step};
pub use request::{Amount, Context, Progress};
pub(crate) use request::{Outbound, RequestContext};
pub use state::{State, States};
