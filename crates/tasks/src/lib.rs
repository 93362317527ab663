//! Tasks: tool calls that continue after their request, for clients that support tasks in either form of the protocol.
//!
//! **Internal to `mcp-runtime`.** Depend on that crate, which re-exports everything that servers need. Items in this crate
//! may change or disappear in any release, including patch releases.
//!
//! In 2026-07-28, tasks are the extension `io.modelcontextprotocol/tasks`; in 2025-11-25, they belong to the core
//! protocol. Both are served from a single `TaskStore`: `creation` decides which calls become tasks, `running` runs
//! them in the order determined by `run_queue`, `claiming` continues those from other processes, `service` notifies
//! clients of changes that other processes make, `methods` answers requests about them, and `wire` contains their forms
//! in both protocols.
//!
//! Calls from other clients are plain calls for as long as their clients have patience. After that, they become tasks,
//! and `jobs` contains their handles.
//!
//! Specification: repository `modelcontextprotocol/ext-tasks`, `specification/2026-07-28/tasks.md`; 2025-11-25,
//! basic/utilities/tasks.
#![forbid(unsafe_code)]
// The examples are servers: `tests/documentation` runs them, so that no test of this crate waits for `mcp-runtime`.
#![cfg(not(doctest))]

mod claiming;
mod creation;
mod jobs;
mod leases;
mod methods;
mod options;
mod run_queue;
mod running;
mod service;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use mcp_core::context::Caller;
use mcp_core::extension::{Extension, ExtensionMethod, FilterMember};
use mcp_core::handler::run::ExtensionVersions;
use mcp_protocol::ProtocolVersion;
#[doc(hidden)]
pub use options::TASKS;
pub use options::{TaskCallExt, TaskContextExt, TaskOptions, TaskToolExt, Tasks};
use serde_json::json;
#[doc(hidden)]
pub use wire::ID;

use crate::service::TaskService;
use crate::wire::{CHANGED, CHANGED_LEGACY, RELATED_TASK};

/// Maximum time for which `tasks/result` waits, which is longer than any task is kept.
const FOREVER: Duration = Duration::from_hours(24 * 365);

/// The protocol versions that have tasks, as an extension or in the core protocol.
const VERSIONS: ExtensionVersions = ExtensionVersions {
    since: ProtocolVersion::OLDEST_MODERN,
    core: ProtocolVersion::has_tasks,
};

/// Creates the extension.
fn extension(service: &Arc<TaskService>) -> Extension {
    let claiming = Arc::clone(service);
    let watching = Arc::clone(service);
    let task_ids = FilterMember::keys("taskIds")
        .on_listen(move |server, caller, id| watching.watch(server, caller, id));
    let extension = Extension::new(ID)
        .setup(move |server| {
            if claiming.store.outlives_process() {
                claiming.end_with(server);
                server.spawn(claiming.claim_tasks(server.clone()));
            }
            Ok(())
        })
        .since(VERSIONS.since)
        .core_in(VERSIONS.core)
        .core_capability("tasks", |caller| {
            let mut value = json!({"cancel": {}, "requests": {"tools": {"call": {}}}});
            if caller.is_identified() {
                value["list"] = json!({});
            }
            value
        })
        .result_type("tools/call", "task")
        .meta_key(RELATED_TASK)
        .notification(CHANGED, task_ids)
        .call_notification(CHANGED_LEGACY);
    // Clients must send the header, but not all do. No instance needs it, because all of them share the store.
    let get = method(service, "tasks/get", methods::get)
        .mirrored_name("taskId")
        .optional_name_header();
    let update = method(service, "tasks/update", methods::update)
        .mirrored_name("taskId")
        .optional_name_header()
        .extension_only();
    let cancel = method(service, "tasks/cancel", methods::cancel)
        .mirrored_name("taskId")
        .optional_name_header();
    let result = method(service, "tasks/result", methods::result)
        .core_only()
        .forwards_questions()
        .timeout(FOREVER);
    let list = method(service, "tasks/list", methods::list)
        .core_only()
        .visible_if(Caller::is_identified);
    let methods = [get, update, cancel, result, list];
    methods.into_iter().fold(extension, Extension::method)
}

/// Creates a method whose handler also receives the service.
fn method<P, F>(
    service: &Arc<TaskService>,
    name: &str,
    handler: fn(Arc<TaskService>, P, mcp_core::context::Context) -> F,
) -> ExtensionMethod
where
    P: serde::de::DeserializeOwned + Send + 'static,
    F: Future<
            Output = mcp_core::handler::handler_error::Result<mcp_core::extension::ExtensionResult>,
        > + Send
        + 'static,
{
    let service = Arc::clone(service);
    ExtensionMethod::new(name, move |params, context| {
        handler(Arc::clone(&service), params, context)
    })
    .built_in()
    .without_state()
}
