//! The protocol version and the capabilities of a client: claimed in every modern request, agreed once in a legacy session.

mod claim;
mod handshake;
mod introduction;
mod requirements;

pub use claim::{Claim, KnownClientInfo, Modern, claim, client_info};
pub use handshake::InitializeParams;
pub use requirements::missing_capabilities;
