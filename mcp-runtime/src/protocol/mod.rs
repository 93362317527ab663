//! Revisions, eras and methods; whether a message is understood; how a value looks in a revision. Pure: no I/O.

pub(crate) mod encode;
mod method;
pub(crate) mod shape;
mod version;

pub(crate) use method::Method;
pub use version::{Era, ProtocolVersion};
