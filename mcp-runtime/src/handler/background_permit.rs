//! A permit to run a call apart from its request.

use tokio::sync::OwnedSemaphorePermit;

/// A permit to run a call to a tool with limited concurrency. The permit is released when dropped.
#[derive(Debug)]
pub struct BackgroundPermit(pub(crate) Option<OwnedSemaphorePermit>);
