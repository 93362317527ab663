//! A client that has completed a handshake.

use std::sync::Arc;
use std::sync::atomic::AtomicU8;

use crate::dispatch::pending::PendingQuestions;
use crate::protocol::ProtocolVersion;
use crate::types::{ClientCapabilities, Implementation};

/// A client that has completed a handshake.
#[derive(Debug)]
pub(super) struct LegacyClient {
    pub(super) version: ProtocolVersion,
    pub(super) capabilities: Arc<ClientCapabilities>,
    pub(super) info: Option<Arc<Implementation>>,
    pub(super) level: Arc<AtomicU8>,
    /// Requests from the server that the client has not answered yet.
    pub(super) pending: Arc<PendingQuestions>,
}
