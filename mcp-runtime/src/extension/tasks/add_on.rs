//! What tasks add to a server that has a tool with the `task` option, or a store for tasks.

use std::any::TypeId;
use std::sync::Arc;
use std::time::Duration;

use crate::extension::tasks::creation;
use crate::extension::tasks::jobs;
use crate::extension::tasks::metrics::describe_task_metrics;
use crate::extension::tasks::names::ID;
use crate::extension::tasks::options::TaskOptions;
use crate::extension::tasks::service::TaskService;
use crate::handler::middleware::Next;
use crate::handler::option::{
    AddOn, OptionTools, OptionWrapping, StartingServer, WrappingPlace, find_option,
};
use crate::jsonrpc::Member;
use crate::stores::{MemoryTaskStore, TaskStore};

/// The add-on that serves tasks.
pub(crate) const TASKS: AddOn = AddOn {
    name: "tasks",
    adds_extension: true,
    start,
};

fn start(server: &mut StartingServer<'_>) {
    describe_task_metrics();
    let option = TypeId::of::<TaskOptions>();
    let mut limits = server.limits.tasks.clone();
    if !server.options.contains(&option) {
        // Calls to tools that are inserted later are plain calls, because the tools for job handles are not added or
        // removed at run time.
        limits.patience = Duration::MAX;
    }
    let has_jobs = limits.patience != Duration::MAX;
    let store: Option<Arc<dyn TaskStore>> = server.stores.get();
    let store = store.unwrap_or_else(|| Arc::new(MemoryTaskStore::new(limits.clone())));
    let drain = server.limits.calls.drain_timeout;
    let service = Arc::new(TaskService::new(store, limits, drain));
    server.added.extensions.push(super::extension(&service));
    if has_jobs {
        server.added.tools.push(OptionTools {
            name: "jobs",
            is_option: |options| {
                find_option(options).is_some_and(|task: &TaskOptions| !task.is_required)
            },
            // A client that knows tasks gets a task instead of a job.
            is_for: |request, client| {
                !request.protocol_version().is_modern() || !client.extensions.contains_key(ID)
            },
            tools: jobs::tools(&service).into(),
            reason: "this name is used by a tool that is added to servers with a `task` tool; choose another, or set \
                     `limits.tasks.patience` to `Duration::MAX`",
        });
    }
    server.added.wrappings.push(OptionWrapping {
        option,
        is_requested: Some(|member, _| member(Member::Task).is_some()),
        reads: Some(Member::Task),
        place: WrappingPlace::Request,
        link: Box::new(move |next| {
            let service = Arc::clone(&service);
            Next::link(move |call| {
                Box::pin(creation::intercept(
                    Arc::clone(&service),
                    call,
                    next.clone(),
                ))
            })
        }),
    });
}
