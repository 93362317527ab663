//! The option to let models search for tools.

use crate::handler::tool_search::ToolSearch;
use crate::server::Server;

impl Server {
    /// Lets models search for tools instead of reading the definitions of all of them. By default, all tools are listed.
    ///
    /// If a client could use more tools than [`ToolSearch::above`] says, its list has the tool `search_tools`, which returns
    /// the tools that fit a query with the schemas of their arguments, the tool `call_tool`, which calls them, and the
    /// tools that are pinned. A call through `call_tool` is a call of the tool that it names, with its access rules,
    /// limits, middleware, questions and results. Tools can also be called by their own names, listed or not.
    ///
    /// Start-up fails if a tool is already named like one of the two.
    pub fn tool_search(mut self, search: ToolSearch) -> Self {
        self.tool_search = Some(search);
        self
    }
}
