//! Which tools a request may use, and shorter lists of them.

use std::sync::Arc;

use bytes::Bytes;

use super::view::CallerView;
use crate::context::Capability;
use crate::handler::option::AttachedOption;
use crate::protocol::ProtocolVersion;
use crate::registry::callable::Callable;
use crate::registry::items::push_item;

impl<'a> CallerView<'a> {
    /// Returns `true` if the request may use more than this number of tools.
    pub(crate) fn has_more_tools_than(self, count: usize) -> bool {
        if self.is_filtered(Capability::Tools) {
            self.tools().nth(count).is_some()
        } else {
            self.snapshot.tools.len() > count
        }
    }

    /// Returns `true` if the request may use a tool with such options.
    pub(crate) fn has_tool_with(self, are_such: fn(&[AttachedOption]) -> bool) -> bool {
        self.tools().any(|tool| are_such(&tool.options))
    }

    /// Returns the members of a page that contains the rendered tools in `first`, followed by the tools that the
    /// request may use and `shows` accepts.
    pub(crate) fn short_tool_page(
        self,
        first: &str,
        shows: impl Fn(&Callable) -> bool,
        version: ProtocolVersion,
    ) -> Bytes {
        let items = self.tool_items(first, shows, version);
        format!("\"{}\":[{items}]", Capability::Tools.member()).into()
    }

    /// Returns `first` followed by the tools that the request may use and `shows` accepts, as comma-separated JSON
    /// objects in the form that `version` requires.
    pub(crate) fn tool_items(
        self,
        first: &str,
        shows: impl Fn(&Callable) -> bool,
        version: ProtocolVersion,
    ) -> String {
        let table = &self.snapshot.tools;
        let shows = |tool: &Callable| self.permits(tool) && shows(tool);
        let others = table.select_visible(0, usize::MAX, Some(&shows));
        let mut items = first.to_owned();
        push_item(&mut items, &table.rendered_items(&others, version));
        items
    }

    /// Returns all tools in the order of the list, each with whether the request may use it.
    pub(crate) fn tools_with_permission(self) -> impl Iterator<Item = (&'a Arc<Callable>, bool)> {
        let callables = self.snapshot.tools.visible().map(|slot| &slot.callable);
        callables.map(move |callable| (callable, self.permits(callable)))
    }
}
