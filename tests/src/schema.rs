//! Checks messages of a server against the official schema of their protocol version.
//!
//! The schemas in `tests/schema` are unmodified. The method determines the definition: that of the message itself for a
//! notification, that of the request for a result.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::Revision;

/// Checks one message from the server.
///
/// `method` is the method of the request that the message answers, if any.
///
/// # Errors
///
/// Returns the faults, one per line, and the message.
pub fn check(revision: Revision, message: &Value, method: Option<&str>) -> Result<(), String> {
    let Some(members) = message.as_object() else {
        return Err(format!("not an object: {message}"));
    };
    if members.contains_key("method") && members.contains_key("id") {
        return request(revision, message);
    }
    if members.contains_key("method") {
        return notification(revision, message);
    }
    if members.contains_key("error") {
        return error(revision, message);
    }
    let Some(result) = members.get("result") else {
        return Err(format!("neither result nor error: {message}"));
    };
    against(revision, envelope(revision), message)?;
    let Some(method) = method else {
        return Err(format!("a result nobody asked for: {message}"));
    };
    if result.get("resultType") == Some(&json!("input_required")) {
        return input_required(revision, method, result);
    }
    let definition = result_of(revision, method)
        .ok_or_else(|| format!("{method} has no result in {}", revision.date()))?;
    against(revision, definition, result)?;
    if definition == "EmptyResult" && !revision.is_modern() && result != &json!({}) {
        return Err(format!("the result of {method} is not empty: {result}"));
    }
    let typed = result.get("resultType").is_some();
    if typed != revision.is_modern() {
        return Err(format!(
            "`resultType` belongs to 2026-07-28 and to nothing older: {message}"
        ));
    }
    Ok(())
}

/// Checks a request of the server, which only the legacy era has.
fn request(revision: Revision, message: &Value) -> Result<(), String> {
    if revision.is_modern() {
        return Err(format!("no request of the server in 2026-07-28: {message}"));
    }
    against(revision, "JSONRPCRequest", message)?;
    against(revision, "ServerRequest", message)?;
    let definition = match message["method"].as_str().unwrap_or_default() {
        "elicitation/create" => "ElicitRequest",
        "sampling/createMessage" => "CreateMessageRequest",
        "roots/list" => "ListRootsRequest",
        method => return Err(format!("a server does not call {method}: {message}")),
    };
    against(revision, definition, message)
}

/// Checks a result that asks for input, which only three methods may return, and only in the modern era.
fn input_required(revision: Revision, method: &str, result: &Value) -> Result<(), String> {
    let may_ask = matches!(method, "tools/call" | "prompts/get" | "resources/read");
    if !revision.is_modern() || !may_ask {
        return Err(format!("{method} asks for input: {result}"));
    }
    against(revision, "InputRequiredResult", result)?;
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
        against(revision, "InputRequest", request)?;
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

fn notification(revision: Revision, message: &Value) -> Result<(), String> {
    against(revision, "JSONRPCNotification", message)?;
    against(revision, "ServerNotification", message)?;
    let method = message["method"].as_str().unwrap_or_default();
    let definition = SCHEMAS[&revision]
        .by_method
        .get(method)
        .ok_or_else(|| format!("{} knows no {method}", revision.date()))?;
    against(revision, definition, message)
}

fn error(revision: Revision, message: &Value) -> Result<(), String> {
    let code = message["error"]["code"].as_i64().unwrap_or_default();
    let permitted = match code {
        -32700 | -32600 | -32601 | -32602 | -32603 => true,
        -32002 => !revision.is_modern(),
        -32042 => revision == Revision::V2025_11_25,
        -32022..=-32020 => revision.is_modern(),
        code => !(-32768..=-32000).contains(&code),
    };
    if !permitted {
        return Err(format!(
            "code {code} is not for {}: {message}",
            revision.date()
        ));
    }
    if message.get("id") == Some(&Value::Null) {
        return Err(format!("an unknown id is left out, not null: {message}"));
    }
    if message.get("id").is_none() {
        // The first three schemas require an id, which a reader of broken input cannot know; JSON-RPC's `null` violates
        // the other two. The transport's text says to omit the id, so only the rest is checked.
        if !matches!(code, -32700 | -32600) {
            return Err(format!(
                "only an unreadable message is answered without an id: {message}"
            ));
        }
        let mut whole = message.clone();
        whole["id"] = json!(0);
        return against(revision, "JSONRPCMessage", &whole);
    }
    against(revision, "JSONRPCMessage", message)?;
    if code == -32042 {
        against(revision, "URLElicitationRequiredError", message)?;
    }
    if revision >= Revision::V2025_11_25 {
        against(revision, "JSONRPCErrorResponse", message)
    } else {
        against(revision, "JSONRPCError", message)
    }
}

fn envelope(revision: Revision) -> &'static str {
    if revision >= Revision::V2025_11_25 {
        "JSONRPCResultResponse"
    } else {
        "JSONRPCResponse"
    }
}

/// Returns the definition of a method's result.
fn result_of(revision: Revision, method: &str) -> Option<&'static str> {
    let modern = revision.is_modern();
    Some(match method {
        "server/discover" if modern => "DiscoverResult",
        "subscriptions/listen" if modern => "SubscriptionsListenResult",
        "tools/list" => "ListToolsResult",
        "tools/call" => "CallToolResult",
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

/// Checks a value against one definition.
///
/// # Errors
///
/// Returns the faults.
pub fn against(revision: Revision, definition: &str, value: &Value) -> Result<(), String> {
    let validator = SCHEMAS[&revision].validator(definition)?;
    let faults: Vec<String> = validator
        .iter_errors(value)
        .map(|fault| format!("{}: {fault}", fault.instance_path()))
        .collect();
    if faults.is_empty() {
        Ok(())
    } else {
        Err(format!(
            "not a {definition} of {}:\n{}\nin {value}",
            revision.date(),
            faults.join("\n")
        ))
    }
}

struct Schema {
    document: Value,
    /// The definition of each notification, by method.
    by_method: HashMap<String, String>,
    compiled: Mutex<HashMap<String, Arc<Validator>>>,
}

static SCHEMAS: LazyLock<HashMap<Revision, Schema>> = LazyLock::new(|| {
    Revision::ALL
        .into_iter()
        .map(|revision| (revision, Schema::of(revision)))
        .collect()
});

impl Schema {
    fn of(revision: Revision) -> Self {
        let text = match revision {
            Revision::V2024_11_05 => include_str!("../schema/2024-11-05.json"),
            Revision::V2025_03_26 => include_str!("../schema/2025-03-26.json"),
            Revision::V2025_06_18 => include_str!("../schema/2025-06-18.json"),
            Revision::V2025_11_25 => include_str!("../schema/2025-11-25.json"),
            Revision::V2026_07_28 => include_str!("../schema/2026-07-28.json"),
        };
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
mod tests {
    use super::*;

    #[test]
    fn good_messages_pass() {
        let call =
            json!({"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"3"}]}});
        for revision in Revision::LEGACY {
            check(revision, &call, Some("tools/call")).unwrap();
        }
        let mut modern = call;
        modern["result"]["resultType"] = json!("complete");
        check(Revision::V2026_07_28, &modern, Some("tools/call")).unwrap();
        for revision in Revision::ALL {
            let error = json!({"jsonrpc":"2.0","id":"x","error":{"code":-32601,"message":"no"}});
            check(revision, &error, None).unwrap();
            let error = json!({"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}});
            check(revision, &error, None).unwrap();
        }
        let changed = json!({"jsonrpc":"2.0","method":"notifications/tools/list_changed"});
        check(Revision::V2024_11_05, &changed, None).unwrap();
    }

    #[test]
    fn bad_messages_are_found() {
        for (revision, method, message) in [
            // `content` is required.
            (
                Revision::V2025_11_25,
                "tools/call",
                json!({"jsonrpc":"2.0","id":1,"result":{}}),
            ),
            // Audio is newer than this protocol version.
            (
                Revision::V2024_11_05,
                "tools/call",
                json!({"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"audio","data":"AA==","mimeType":"a/b"}]}}),
            ),
            // A newer field.
            (
                Revision::V2025_11_25,
                "ping",
                json!({"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}),
            ),
            // Caching fields are required.
            (
                Revision::V2026_07_28,
                "tools/list",
                json!({"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[]}}),
            ),
            // An error code of another era.
            (
                Revision::V2026_07_28,
                "resources/read",
                json!({"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"m"}}),
            ),
            (
                Revision::V2025_11_25,
                "tools/call",
                json!({"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"m"}}),
            ),
            // An id that could be read must be echoed.
            (
                Revision::V2025_11_25,
                "ping",
                json!({"jsonrpc":"2.0","error":{"code":-32601,"message":"m"}}),
            ),
            (
                Revision::V2025_11_25,
                "ping",
                json!({"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}),
            ),
            // Progress without a token.
            (
                Revision::V2025_11_25,
                "",
                json!({"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}),
            ),
        ] {
            check(revision, &message, Some(method)).unwrap_err();
        }
    }
}
