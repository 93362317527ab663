//! What a handler receives: the context of its call, shared state, the running server.

mod from_context;
mod handle;
mod request;
mod state;

pub use from_context::FromContext;
pub use handle::{Batch, Editor, List, Notifier, ServerHandle};
pub(crate) use handle::{Change, Control, Edit, Step};
pub use request::Context;
pub(crate) use request::{Outbound, RequestContext};
pub use state::{State, States};
