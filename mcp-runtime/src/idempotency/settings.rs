//! The settings for calls with an idempotency key.

use std::sync::Arc;

use crate::context::OnceStore;
use crate::limits::IdempotencyLimits;

/// The settings for calls with a key.
pub(crate) struct Idempotency {
    pub(crate) store: Arc<dyn OnceStore>,
    pub(crate) limits: IdempotencyLimits,
    /// The server's name, because several servers can share a store.
    pub(crate) server: String,
}
