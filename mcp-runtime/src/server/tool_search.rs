//! The option that lets models search for tools.

use crate::handler::tool_search::ToolSearch;
use crate::server::Server;

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
        self.tool_search = Some(search);
        self
    }
}
