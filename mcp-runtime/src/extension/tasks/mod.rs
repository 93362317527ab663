//! Tasks: tool calls that continue after their request, for clients that support them in either protocol.
//!
//! In 2026-07-28, tasks are the extension `io.modelcontextprotocol/tasks`; in 2025-11-25, they belong to the core
//! protocol. Both are served from one [`TaskStore`]: `creation` decides which calls become tasks, `running` runs them
//! in the order of `run_queue`, `claiming` continues those from other processes, `methods` answers requests about them,
//! and `wire` contains their forms in both protocols.
//!
//! Calls from other clients are plain calls for as long as `patience` decides. After that, `handover` turns them into
//! tasks, and `jobs` contains their handles.
//!
//! Specification: repository `modelcontextprotocol/ext-tasks`, `specification/2026-07-28/tasks.md`; 2025-11-25,
//! basic/utilities/tasks.

mod call_steps;
mod claiming;
mod creation;
mod handover;
mod heartbeat;
mod jobs;
mod latest_report;
mod local;
mod methods;
mod names;
mod patience;
mod run_end;
mod run_queue;
mod running;
mod service;
mod state;
mod task_steps;
mod timestamp;
mod wire;

#[cfg(feature = "testing")]
pub(crate) use claiming::NOT_STARTED_AGAIN;

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::context::Caller;
pub(crate) use crate::extension::tasks::names::ID;
use crate::extension::tasks::names::{CHANGED, CHANGED_LEGACY, RELATED_TASK};
use crate::extension::tasks::service::TaskService;
use crate::extension::{Extension, ExtensionMethod, FilterMember};
use crate::handler::dynamic::DynamicTool;
use crate::limits::TaskLimits;
use crate::protocol::ProtocolVersion;
use crate::stores::TaskStore;

/// Longest time for which `tasks/result` waits: longer than any task is kept.
const FOREVER: Duration = Duration::from_hours(24 * 365);

/// Creates the extension on top of a store, and the tools for clients that do not support tasks. Once the server stops,
/// running tasks have the time `drain` to end.
pub(crate) fn extension(
    store: Arc<dyn TaskStore>,
    limits: TaskLimits,
    drain: Duration,
) -> (Extension, [DynamicTool; 2]) {
    let service = Arc::new(TaskService::new(store, limits, drain));
    let creating = Arc::clone(&service);
    let claiming = Arc::clone(&service);
    let extension = Extension::new(ID)
        .setup(move |server| {
            if claiming.store.outlives_process() {
                claiming.end_with(server);
                server.spawn(claiming.claim_tasks(server.clone()));
            }
            Ok(())
        })
        .since(ProtocolVersion::OLDEST_MODERN)
        .core_in(ProtocolVersion::has_tasks)
        .core_capability("tasks", |caller| {
            let mut value = json!({"cancel": {}, "requests": {"tools": {"call": {}}}});
            if caller.is_identified() {
                value["list"] = json!({});
            }
            value
        })
        .result_type("tools/call", "task")
        .meta_key(RELATED_TASK)
        .notification(CHANGED, FilterMember::keys("taskIds"))
        .call_notification(CHANGED_LEGACY)
        .task_middleware(move |call, next| creation::intercept(Arc::clone(&creating), call, next));
    let get = method(&service, "tasks/get", methods::get).mirrored_name("taskId");
    let update = method(&service, "tasks/update", methods::update)
        .mirrored_name("taskId")
        .extension_only();
    let cancel = method(&service, "tasks/cancel", methods::cancel).mirrored_name("taskId");
    let result = method(&service, "tasks/result", methods::result)
        .core_only()
        .forwards_questions()
        .timeout(FOREVER);
    let list = method(&service, "tasks/list", methods::list)
        .core_only()
        .visible_if(Caller::is_identified);
    let methods = [get, update, cancel, result, list];
    let extension = methods.into_iter().fold(extension, Extension::method);
    (extension, jobs::tools(&service))
}

/// Creates a method whose handler also receives the service.
fn method<P, F>(
    service: &Arc<TaskService>,
    name: &str,
    handler: fn(Arc<TaskService>, P, crate::Context) -> F,
) -> ExtensionMethod
where
    P: serde::de::DeserializeOwned + Send + 'static,
    F: Future<Output = crate::Result<crate::extension::ExtensionResult>> + Send + 'static,
{
    let service = Arc::clone(service);
    ExtensionMethod::new(name, move |params, context| {
        handler(Arc::clone(&service), params, context)
    })
}
