//! The tools that clients without task support use to manage tasks.
//!
//! The tools exist for a request if it may use a tool with the `task` option and its client has not declared the tasks
//! extension.

use crate::error::Error;
use crate::extension::tasks;
use crate::handler::dynamic::DynamicTool;
use crate::handler::listing::Page;
use crate::handler::task_options::{JOB_CANCEL, JOB_STATUS};
use crate::registry::{SourceAnswer, SourceRequest, SourceTool, ToolSource};

/// The two tools.
pub(crate) struct JobTools([SourceTool; 2]);

impl JobTools {
    pub(crate) fn new([status, cancel]: [DynamicTool; 2]) -> Result<Self, Error> {
        let tools = [SourceTool::built_in(status)?, SourceTool::built_in(cancel)?];
        Ok(Self(tools))
    }

    /// Returns `true` if the tools exist for a request.
    fn are_for(request: &SourceRequest<'_>) -> bool {
        let knows_tasks = request.info().protocol_version().is_modern()
            && request
                .client_capabilities()
                .extensions
                .contains_key(tasks::ID);
        !knows_tasks && request.view().has_optional_task_tool()
    }
}

impl ToolSource for JobTools {
    fn name(&self) -> &'static str {
        "jobs"
    }

    fn list(
        &self,
        request: &SourceRequest<'_>,
        _cursor: Option<&str>,
    ) -> SourceAnswer<Page<SourceTool>> {
        let tools: &[_] = if Self::are_for(request) { &self.0 } else { &[] };
        SourceAnswer::ready(Page::new(tools))
    }

    fn resolve(&self, request: &SourceRequest<'_>, name: &str) -> SourceAnswer<Option<SourceTool>> {
        let tool = self.0.iter().find(|tool| tool.name() == name);
        SourceAnswer::ready(tool.filter(|_| Self::are_for(request)).cloned())
    }

    fn reserves(&self, name: &str) -> Option<String> {
        let reason = "this name is used by a tool that is added to servers with a `task` tool; choose another, or set \
                      `limits.tasks.patience` to `Duration::MAX`";
        [JOB_STATUS, JOB_CANCEL]
            .contains(&name)
            .then(|| reason.to_owned())
    }
}
