//! Protocol versions, eras and methods; validity of messages; the shape of values in each version. Pure: no I/O.

pub(crate) mod claim;
pub(crate) mod codes;
pub(crate) mod encode;
pub(crate) mod errors;
mod handshake;
pub(crate) mod input;
mod introduction;
mod meta;
mod method;
mod requirements;
mod schema;
pub(crate) mod shape;
pub(crate) mod structured;
mod version;

pub(crate) use claim::{Claim, KnownClientInfo, Modern, claim, client_info};
pub(crate) use handshake::InitializeParams;
pub(crate) use meta::is_reserved;
pub(crate) use method::{ClientNotification, Method, MethodCapability};
pub(crate) use requirements::missing;
pub(crate) use version::Era;
pub use version::ProtocolVersion;
