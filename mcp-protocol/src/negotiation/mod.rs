//! Determines a client's protocol version and capabilities. Modern clients claim both in every request; legacy clients
//! negotiate both with the server once per session.

mod claim;
mod handshake;
mod introduction;
mod requirements;

pub use claim::{KnownClientInfo, ModernMeta, VersionClaim, claim, client_info};
pub use handshake::InitializeParams;
pub use introduction::{parse_capabilities, parse_client_info};
pub use requirements::missing_capabilities;
