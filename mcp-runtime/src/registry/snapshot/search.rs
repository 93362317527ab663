//! Searches for tools, and lists of some tools.

use std::sync::Arc;

use bytes::Bytes;

use super::view::CallerView;
use crate::context::Capability;
use crate::protocol::ProtocolVersion;
use crate::registry::callable::Callable;

impl<'a> CallerView<'a> {
    /// Returns `true` if the request may use more than this number of tools.
    pub(crate) fn has_more_tools_than(self, count: usize) -> bool {
        if self.is_filtered(Capability::Tools) {
            self.tools().nth(count).is_some()
        } else {
            self.snapshot.tools.len() > count
        }
    }

    /// Returns the members of a page that has only these tools, and those for which `is_pinned` returns `true`.
    pub(crate) fn short_tool_page<'t>(
        self,
        first: impl IntoIterator<Item = &'t Callable>,
        is_pinned: impl Fn(&Callable) -> bool,
        version: ProtocolVersion,
    ) -> Bytes {
        let items = self.tool_items(first, is_pinned, version);
        format!("\"{}\":[{items}]", Capability::Tools.member()).into()
    }

    /// Returns these tools, and those that the request may use and for which `shows` returns `true`, as comma-separated JSON
    /// objects in the form that `version` defines.
    pub(crate) fn tool_items<'t>(
        self,
        first: impl IntoIterator<Item = &'t Callable>,
        shows: impl Fn(&Callable) -> bool,
        version: ProtocolVersion,
    ) -> String {
        let mut items = String::new();
        for tool in first {
            tool.append(&mut items, version);
        }
        for tool in self.tools().filter(|tool| shows(tool)) {
            tool.append(&mut items, version);
        }
        items
    }

    /// Returns the tools that a query finds among those that the request may use, the best first.
    pub(crate) fn search_tools(self, query: &str) -> Vec<&'a Arc<Callable>> {
        let table = &self.snapshot.tools;
        let tools: Vec<_> = table.visible().map(|slot| &slot.callable).collect();
        let permitted: Vec<bool> = tools.iter().map(|tool| self.permits(tool)).collect();
        let found = table.index().search(query, &permitted);
        found
            .into_iter()
            .filter_map(|tool| tools.get(tool).copied())
            .collect()
    }
}
