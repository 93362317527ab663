//! Sources of tools besides the registry.

use std::sync::Arc;

use crate::context::Capability;
use crate::registry::ToolSource;
use crate::server::Server;

impl Server {
    /// Adds a [source of tools](ToolSource), which is asked whenever a client lists tools or calls one that the server
    /// does not have itself. Can be called more than once; sources are asked in this order.
    ///
    /// Start-up fails if two sources have the same name, or if a tool of the server has a name that a source
    /// [reserves](ToolSource::reserves).
    pub fn tool_source(mut self, source: impl ToolSource) -> Self {
        self.tool_sources.push(Arc::new(source));
        // The list may be empty for the client that reads the capabilities.
        self.offered.push(Capability::Tools);
        self
    }
}
