//! Being written.

/// A server.
#[derive(Debug)]
pub struct Server;
