//! Names used on the wire.

/// The extension's identifier.
pub(crate) const ID: &str = "io.modelcontextprotocol/tasks";
/// The `_meta` key for the task to which a message belongs. Used only in 2025-11-25.
pub(super) const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
/// The notification about a change, for clients that use 2026-07-28.
pub(super) const CHANGED: &str = "notifications/tasks";
/// The notification about a change, for clients that use 2025-11-25.
pub(super) const CHANGED_LEGACY: &str = "notifications/tasks/status";
/// The tool that clients without task support use to wait for a task.
pub(super) const JOB_STATUS: &str = "job_status";
/// The tool that such clients use to cancel a task.
pub(super) const JOB_CANCEL: &str = "job_cancel";
