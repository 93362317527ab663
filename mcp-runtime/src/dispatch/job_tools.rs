//! The tools that clients without task support use to manage tasks.
//!
//! The tools exist for a request if it may use a tool with the `task` option and its client has not declared the tasks
//! extension.

use std::sync::{Arc, OnceLock};

use crate::error::{Error, ErrorKind};
use crate::extension::tasks;
use crate::handler::dynamic::DynamicTool;
use crate::protocol::ProtocolVersion;
use crate::registry::{Callable, CallerView, tool_callable};
use crate::types::ClientCapabilities;

/// The two tools.
pub(crate) struct JobTools {
    tools: [Arc<Callable>; 2],
    /// The list entries for both tools, rendered for each protocol version.
    rendered: [OnceLock<String>; ProtocolVersion::ALL.len()],
}

impl JobTools {
    pub(crate) fn new([status, cancel]: [DynamicTool; 2]) -> Result<Self, Error> {
        let made = |made: DynamicTool| {
            let made = tool_callable(made)
                .map_err(|problem| Error::new(ErrorKind::Configuration, problem));
            made.map(Arc::new)
        };
        Ok(Self {
            tools: [made(status)?, made(cancel)?],
            rendered: Default::default(),
        })
    }

    /// Returns `true` if the tools exist for a request from a client with these capabilities.
    pub(super) fn are_for(
        view: CallerView<'_>,
        version: ProtocolVersion,
        capabilities: &ClientCapabilities,
    ) -> bool {
        let knows_tasks = version.is_modern() && capabilities.extensions.contains_key(tasks::ID);
        !knows_tasks && view.has_optional_task_tool()
    }

    /// Returns the tool with this name.
    pub(super) fn find(&self, name: &str) -> Option<&Arc<Callable>> {
        self.tools.iter().find(|tool| *tool.name == *name)
    }

    /// Returns the entries of both tools in lists, separated by a comma.
    pub(super) fn rendered(&self, version: ProtocolVersion) -> &str {
        let Some(rendered) = self.rendered.get(version as usize) else {
            return "";
        };
        rendered.get_or_init(|| {
            let mut text = String::new();
            for tool in &self.tools {
                tool.append_list_item(&mut text, version);
            }
            text
        })
    }
}
