//! Arguments: a handler receives the value as sent, with the type in its schema; otherwise, the call is refused.

mod exclusive;
mod mirrored;
mod mistakes;
mod numbers;
mod one_spelling;
mod refused;
mod repeated;
mod types;

use mcp_runtime::dynamic::{Arguments, DynamicPrompt, DynamicTool};
use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use serde_json::Value;
use tests::{Client, Failure};

fn server() -> Server {
    Server::new("arguments", "1").only(Selected::tag("arguments"))
}

/// Sends a request with one member of `params` as raw JSON text, which `Value` could not represent; returns the answer.
async fn send(
    client: &mut Client,
    method: &str,
    params: Value,
    member: &str,
    text: &str,
) -> Result<Value, Failure> {
    let mut params = client.dress(params);
    params[member] = json!("@text@");
    let message = json!({"jsonrpc": "2.0", "id": "text", "method": method, "params": params});
    client.remember(&message);
    let message = message.to_string().replace("\"@text@\"", text);
    client.line(&message).await;
    client.response(&json!("text")).await
}

/// Calls a tool with arguments as raw JSON text; returns its result, or the reason for the refusal.
async fn call(client: &mut Client, name: &str, arguments: &str) -> Result<String, String> {
    let params = json!({"name": name});
    let result = send(client, "tools/call", params, "arguments", arguments).await;
    let result = result.unwrap_or_else(|failure| panic!("{name} {arguments}: {failure:?}"));
    let text = result["content"][0]["text"].as_str().unwrap().to_owned();
    match result["isError"].as_bool() {
        Some(true) => Err(text),
        _ => Ok(text),
    }
}

/// Takes an integer.
#[tool(tags("arguments"))]
fn integer(n: i64) -> String {
    n.to_string()
}

/// Takes a number, with a hand-written schema.
#[tool(
    tags("arguments"),
    schema = r#"{"type": "object", "properties": {"n": {"type": "integer", "maximum": 9007199254740993}}}"#
)]
fn written(n: u128) -> String {
    n.to_string()
}

/// Returns its arguments.
#[prompt(tags("arguments"))]
fn greet(name: String, style: Option<String>) -> String {
    format!("{name} {style:?}")
}

fn dynamic() -> Server {
    let server = server();
    let handle = server.handle();
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let tool = DynamicTool::new(
        "weather",
        schema,
        async |arguments: Arguments, _: Context| {
            arguments.text("city").unwrap_or("nowhere").to_owned()
        },
    );
    handle.tools().insert(tool).unwrap();
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let tool = DynamicTool::new(
        "number",
        schema,
        async |arguments: Arguments, _: Context| arguments.get::<Value>("n").map(|n| n.to_string()),
    );
    handle.tools().insert(tool).unwrap();
    let prompt = DynamicPrompt::new("hello", async |arguments: Arguments, _: Context| {
        format!("{:?} {:?}", arguments.text("name"), arguments.text("style"))
    });
    let prompt = prompt.required("name", "Whom").optional("style", "How");
    handle.prompts().insert(prompt).unwrap();
    server
}
