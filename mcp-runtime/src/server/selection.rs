//! Which of the functions that are linked in a server serves.

/// A function chosen for [`Server::only`](crate::Server::only); made by `tool!(path)` and its siblings.
pub use crate::handler::definition::Selected as Select;
