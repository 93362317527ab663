//! The protocol version and the capabilities of a client, which are claimed in every modern request and agreed on once
//! in a legacy session.

mod claim;
mod handshake;
mod introduction;
mod requirements;

pub use claim::{Claim, KnownClientInfo, Modern, claim, client_info};
pub use handshake::InitializeParams;
pub use requirements::missing_capabilities;
