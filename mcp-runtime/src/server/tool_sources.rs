//! Tools that are not in the registry: the option that lets models search for tools, and sources of tools.

use std::sync::Arc;

use crate::context::Capability;
use crate::registry::ToolSource;
use crate::server::Server;
use crate::tool_search::{SearchTools, ToolSearch};

impl Server {
    /// Lets models search for tools instead of reading the definitions of all tools. By default, all tools are listed.
    ///
    /// If a client may use more tools than the number passed to [`ToolSearch::above`], its list contains only the
    /// pinned tools and two others: `search_tools`, which returns the tools that match a query along with their input
    /// schemas, and `call_tool`, which calls them. A call through `call_tool` is treated as a call to the named tool,
    /// with the same access rules, limits, middleware, questions and results. Tools can also be called by their own
    /// names, whether or not they are listed.
    ///
    /// Start-up fails if any other tool has one of these two names.
    pub fn tool_search(mut self, search: ToolSearch) -> Self {
        self.cover = Some(Box::new(move || Ok(Arc::new(SearchTools::new(search)?))));
        self
    }

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
