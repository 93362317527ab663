//! Checks a server's messages against the official schema of their protocol version.
//!
//! The schemas in `tests/schema` are unmodified. A method determines the definition that a message must match: for a
//! notification, the method in the message; for a result, the method of the request.

#[path = "schema/extensions.rs"]
mod extensions;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::Version;

/// Checks a message from the server.
///
/// `method` is the method of the request that the message answers, if any.
///
/// # Errors
///
/// Returns the faults, one per line, followed by the message.
pub fn check(version: Version, message: &Value, method: Option<&str>) -> Result<(), String> {
    let Some(members) = message.as_object() else {
        return Err(format!("not an object: {message}"));
    };
    if members.contains_key("method") && members.contains_key("id") {
        return request(version, message);
    }
    if members.contains_key("method") {
        return notification(version, message);
    }
    if members.contains_key("error") {
        return error(version, message);
    }
    let Some(result) = members.get("result") else {
        return Err(format!("neither result nor error: {message}"));
    };
    against(version, envelope(version), message)?;
    let Some(method) = method else {
        return Err(format!("a result without a request: {message}"));
    };
    if result.get("resultType") == Some(&json!("input_required")) {
        return input_required(version, method, result);
    }
    if let Some(definition) = extensions::task_result(version, method, result) {
        return matches(&TASKS, "the extension for tasks", definition, result);
    }
    let definition = if extensions::defines_method(version, method)
        || extensions::defines_result(version, result)
    {
        Some("Result")
    } else {
        result_of(version, method, result)
    };
    let definition =
        definition.ok_or_else(|| format!("{method} has no result in {}", version.date()))?;
    against(version, definition, result)?;
    if definition == "EmptyResult" && !version.is_modern() && result != &json!({}) {
        return Err(format!("the result of {method} is not empty: {result}"));
    }
    let typed = result.get("resultType").is_some();
    if typed != version.is_modern() {
        return Err(format!(
            "`resultType` belongs to 2026-07-28 and to nothing older: {message}"
        ));
    }
    Ok(())
}

/// Checks a request from the server, which is allowed only in the legacy era.
fn request(version: Version, message: &Value) -> Result<(), String> {
    if version.is_modern() {
        return Err(format!("no request of the server in 2026-07-28: {message}"));
    }
    against(version, "JSONRPCRequest", message)?;
    against(version, "ServerRequest", message)?;
    let definition = match message["method"].as_str().unwrap_or_default() {
        "elicitation/create" => "ElicitRequest",
        "sampling/createMessage" => "CreateMessageRequest",
        "roots/list" => "ListRootsRequest",
        method => return Err(format!("a server does not call {method}: {message}")),
    };
    against(version, definition, message)
}

/// Checks a result that asks for input. Only three methods may return one, and only in the modern era.
fn input_required(version: Version, method: &str, result: &Value) -> Result<(), String> {
    let may_ask = matches!(method, "tools/call" | "prompts/get" | "resources/read");
    if !version.is_modern() || !may_ask {
        return Err(format!("{method} asks for input: {result}"));
    }
    against(version, "InputRequiredResult", result)?;
    let members = result.as_object().into_iter().flatten();
    for (member, _) in members {
        if !matches!(
            member.as_str(),
            "resultType" | "inputRequests" | "requestState" | "_meta"
        ) {
            return Err(format!("`{member}` beside questions: {result}"));
        }
    }
    if result.get("inputRequests").is_none() && result.get("requestState").is_none() {
        return Err(format!("neither questions nor a state: {result}"));
    }
    for request in result["inputRequests"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(_, request)| request)
    {
        against(version, "InputRequest", request)?;
        for member in ["jsonrpc", "id"] {
            if request.get(member).is_some() {
                return Err(format!("`{member}` in a question: {request}"));
            }
        }
        for member in ["_meta", "task"] {
            if request["params"].get(member).is_some() {
                return Err(format!(
                    "`{member}` in the parameters of a question: {request}"
                ));
            }
        }
    }
    Ok(())
}

fn notification(version: Version, message: &Value) -> Result<(), String> {
    against(version, "JSONRPCNotification", message)?;
    let method = message["method"].as_str().unwrap_or_default();
    if version.is_modern() && method == "notifications/tasks" {
        let definition = "TaskStatusNotification";
        return matches(&TASKS, "the extension for tasks", definition, message);
    }
    if extensions::defines_notification(method) {
        return Ok(());
    }
    against(version, "ServerNotification", message)?;
    let definition = SCHEMAS[&version]
        .by_method
        .get(method)
        .ok_or_else(|| format!("{} knows no {method}", version.date()))?;
    against(version, definition, message)
}

fn error(version: Version, message: &Value) -> Result<(), String> {
    let code = message["error"]["code"].as_i64().unwrap_or_default();
    let permitted = match code {
        -32700 | -32600 | -32601 | -32602 | -32603 => true,
        -32002 => !version.is_modern(),
        -32042 => version == Version::V2025_11_25,
        -32022..=-32020 => version.is_modern(),
        code => !(-32768..=-32000).contains(&code),
    };
    if !permitted {
        return Err(format!(
            "code {code} is not for {}: {message}",
            version.date()
        ));
    }
    if message.get("id") == Some(&Value::Null) {
        return Err(format!("an unknown id is left out, not null: {message}"));
    }
    if message.get("id").is_none() {
        // The first three schemas require an id, but the id of an unreadable message is unknown. A `null` id, as in
        // JSON-RPC, violates the other two schemas. The transport specification says to omit the id, so only the other
        // members are checked.
        if !matches!(code, -32700 | -32600) {
            return Err(format!(
                "only an unreadable message is answered without an id: {message}"
            ));
        }
        let mut whole = message.clone();
        whole["id"] = json!(0);
        return against(version, "JSONRPCMessage", &whole);
    }
    against(version, "JSONRPCMessage", message)?;
    if code == -32042 {
        against(version, "URLElicitationRequiredError", message)?;
    }
    if version >= Version::V2025_11_25 {
        against(version, "JSONRPCErrorResponse", message)
    } else {
        against(version, "JSONRPCError", message)
    }
}

fn envelope(version: Version) -> &'static str {
    if version >= Version::V2025_11_25 {
        "JSONRPCResultResponse"
    } else {
        "JSONRPCResponse"
    }
}

/// Returns the name of the definition for a method's result.
fn result_of(version: Version, method: &str, result: &Value) -> Option<&'static str> {
    let has_tasks = version == Version::V2025_11_25;
    let modern = version.is_modern();
    Some(match method {
        "server/discover" if modern => "DiscoverResult",
        "subscriptions/listen" if modern => "SubscriptionsListenResult",
        "tools/list" => "ListToolsResult",
        "tools/call" if has_tasks && result.get("task").is_some() => "CreateTaskResult",
        "tools/call" => "CallToolResult",
        "tasks/get" if has_tasks => "GetTaskResult",
        "tasks/result" if has_tasks => "CallToolResult",
        "tasks/list" if has_tasks => "ListTasksResult",
        "tasks/cancel" if has_tasks => "CancelTaskResult",
        "prompts/list" => "ListPromptsResult",
        "prompts/get" => "GetPromptResult",
        "resources/list" => "ListResourcesResult",
        "resources/templates/list" => "ListResourceTemplatesResult",
        "resources/read" => "ReadResourceResult",
        "completion/complete" => "CompleteResult",
        "initialize" if !modern => "InitializeResult",
        "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe"
            if !modern =>
        {
            "EmptyResult"
        }
        _ => return None,
    })
}

/// Checks a value against a single definition.
///
/// # Errors
///
/// Returns the faults.
pub fn against(version: Version, definition: &str, value: &Value) -> Result<(), String> {
    matches(&SCHEMAS[&version], version.date(), definition, value)
}

fn matches(schema: &Schema, of: &str, definition: &str, value: &Value) -> Result<(), String> {
    let validator = schema.validator(definition)?;
    let faults: Vec<String> = validator
        .iter_errors(value)
        .map(|fault| format!("{}: {fault}", fault.instance_path()))
        .collect();
    if faults.is_empty() {
        Ok(())
    } else {
        Err(format!(
            "not a {definition} of {of}:\n{}\nin {value}",
            faults.join("\n")
        ))
    }
}

struct Schema {
    document: Value,
    /// The definition for each notification, by method.
    by_method: HashMap<String, String>,
    compiled: Mutex<HashMap<String, Arc<Validator>>>,
}

static SCHEMAS: LazyLock<HashMap<Version, Schema>> = LazyLock::new(|| {
    Version::ALL
        .into_iter()
        .map(|version| (version, Schema::of(version)))
        .collect()
});

/// The schema of the extension for tasks.
static TASKS: LazyLock<Schema> =
    LazyLock::new(|| Schema::read(include_str!("../schema/ext-tasks.json")));

impl Schema {
    fn of(version: Version) -> Self {
        let text = match version {
            Version::V2024_11_05 => include_str!("../schema/2024-11-05.json"),
            Version::V2025_03_26 => include_str!("../schema/2025-03-26.json"),
            Version::V2025_06_18 => include_str!("../schema/2025-06-18.json"),
            Version::V2025_11_25 => include_str!("../schema/2025-11-25.json"),
            Version::V2026_07_28 => include_str!("../schema/2026-07-28.json"),
        };
        Self::read(text)
    }

    fn read(text: &str) -> Self {
        let document: Value = serde_json::from_str(text).expect("the schemas are JSON");
        let by_method = document["definitions"]
            .as_object()
            .or(document["$defs"].as_object())
            .expect("the schemas have definitions")
            .iter()
            .filter(|(name, _)| name.ends_with("Notification") && *name != "ClientNotification")
            .filter_map(|(name, definition)| {
                let method = definition["properties"]["method"]["const"].as_str()?;
                Some((method.to_owned(), name.clone()))
            })
            .collect();
        Self {
            document,
            by_method,
            compiled: Mutex::default(),
        }
    }

    fn validator(&self, definition: &str) -> Result<Arc<Validator>, String> {
        let mut compiled = self
            .compiled
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(validator) = compiled.get(definition) {
            return Ok(Arc::clone(validator));
        }
        let mut root = self.document.clone();
        let key = if root.get("$defs").is_some() {
            "$defs"
        } else {
            "definitions"
        };
        if root[key].get(definition).is_none() {
            return Err(format!("no definition {definition}"));
        }
        root["$ref"] = json!(format!("#/{key}/{definition}"));
        let validator = jsonschema::validator_for(&root).map_err(|error| error.to_string())?;
        let validator = Arc::new(validator);
        compiled.insert(definition.to_owned(), Arc::clone(&validator));
        Ok(validator)
    }
}

#[cfg(test)]
#[path = "schema/tests.rs"]
mod tests;
