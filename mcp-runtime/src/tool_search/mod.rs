//! Search on demand for servers with many tools: see [`Server::tool_search`](crate::Server::tool_search).
// `tools` has the tool that searches and the tool that calls what was found; `index` ranks.

mod index;
mod tools;

use std::sync::Arc;

use crate::server::Server;
use tools::SearchTools;

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
    pub fn tool_search(self, search: ToolSearch) -> Self {
        self.with_cover(Box::new(move || Ok(Arc::new(SearchTools::new(search)?))))
    }
}

/// Options for [`Server::tool_search`](crate::Server::tool_search), which lets models search for tools on demand.
///
/// ```
/// use mcp_runtime::prelude::*;
/// use mcp_runtime::tool_search::ToolSearch;
///
/// let server = new_server!().tool_search(ToolSearch::above(40).pin(["list_issues"]));
/// ```
#[derive(Clone, Debug)]
#[must_use = "it takes effect with `Server::tool_search`"]
pub struct ToolSearch {
    above: usize,
    pinned: Vec<String>,
    max_results: u16,
}

impl ToolSearch {
    /// The name of the tool that searches.
    const SEARCH: &str = "search_tools";
    /// The name of the tool that calls another tool.
    const CALL: &str = "call_tool";

    /// Returns `true` for the names of the two tools.
    fn is_name(name: &str) -> bool {
        name == Self::SEARCH || name == Self::CALL
    }

    /// Replaces the list of tools for clients that could use more than this number of tools.
    pub const fn above(tools: usize) -> Self {
        Self {
            above: tools,
            pinned: Vec::new(),
            max_results: 8,
        }
    }

    /// Adds tools that are always listed because models need them often. Start-up fails if one of these tools does not
    /// exist.
    pub fn pin(mut self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.pinned.extend(tools.into_iter().map(Into::into));
        self
    }

    /// Sets the maximum number of tools that a search returns. Defaults to 8; the minimum is 1.
    pub fn max_results(mut self, tools: u16) -> Self {
        self.max_results = if tools == 0 { 1 } else { tools };
        self
    }
}
