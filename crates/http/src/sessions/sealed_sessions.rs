//! Sessions kept by their clients: the id is the sealed result of the handshake, including an expiry time.
//!
//! Ids are sealed with the same keys as `requestState` and bound to the server's name.

use std::sync::Arc;

use mcp_core::dispatch::Dispatcher;
use mcp_core::seal;
use mcp_core::seal::Binding;
use mcp_stores::SessionRecord;

/// Seals and opens session ids.
pub(crate) struct SealedSessions {
    dispatcher: Arc<Dispatcher>,
    binding: [u8; 32],
}

impl SealedSessions {
    pub(crate) fn new(dispatcher: &Arc<Dispatcher>) -> Self {
        let binding = Binding {
            server: &dispatcher.identity().implementation().name,
            principal: "",
            // No call uses this method, so a call's state can never be opened as a session.
            method: "initialize",
            name: "",
            arguments: "",
        };
        Self {
            dispatcher: Arc::clone(dispatcher),
            binding: binding.digest(),
        }
    }

    /// Seals a session and returns its id.
    pub(crate) fn seal(&self, record: &SessionRecord) -> Option<String> {
        let plain = serde_json::to_vec(record).ok()?;
        let time = self.dispatcher.limits().sessions.sealed_timeout;
        let expiry = seal::now().saturating_add(time);
        self.dispatcher
            .seal()
            .seal_until(&self.binding, &plain, expiry)
    }

    /// Returns the session with this id, or `None` if this server did not seal the id or the id has expired.
    pub(crate) fn open(&self, id: &str) -> Option<SessionRecord> {
        if id.len() > self.dispatcher.limits().sessions.max_sealed_bytes {
            return None;
        }
        let opened = self.dispatcher.seal().open(&self.binding, id, seal::now());
        let plain =
            opened.inspect_err(|refused| tracing::debug!(?refused, "refused a sealed session"));
        serde_json::from_slice(&plain.ok()?).ok()
    }
}
