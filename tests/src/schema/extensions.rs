//! Messages that extensions define. The official schemas describe only their envelopes.
//!
//! The names are listed here so that a server that answers any other unknown method is still caught.

use serde_json::Value;

use crate::Version;

/// Returns `true` if an extension defines the method in this version.
pub(super) fn defines_method(version: Version, method: &str) -> bool {
    match method {
        "skills/list" | "skills/get" | "resources/directory/read" => version.is_modern(),
        // The extensions of the tests and of the example.
        method => method.starts_with("garden/"),
    }
}

/// Returns `true` if an extension defines the notification.
pub(super) fn defines_notification(method: &str) -> bool {
    method.starts_with("notifications/garden/")
}

/// Returns `true` if the result is one that an extension sends in place of a core method's result.
pub(super) fn defines_result(version: Version, result: &Value) -> bool {
    version.is_modern() && result["resultType"] == "estimate"
}

/// Returns the name of the definition for a result that concerns tasks, in the schema of their extension.
pub(super) fn task_result(version: Version, method: &str, result: &Value) -> Option<&'static str> {
    if !version.is_modern() {
        return None;
    }
    Some(match method {
        "tools/call" if result["resultType"] == "task" => "CreateTaskResult",
        "tasks/get" => "GetTaskResult",
        "tasks/update" => "UpdateTaskResult",
        "tasks/cancel" => "CancelTaskResult",
        _ => return None,
    })
}
