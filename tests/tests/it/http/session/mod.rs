//! Sessions over HTTP: on one server here, on several instances in `shared`, and without a store in `stateless`.

mod calls;
mod lifetime;
mod resuming;
mod shared;
mod stateless;

use serde_json::{Value, json};
use tests::Version;
use tests::http::Request;

fn ping(id: i64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "ping"})
}

fn cancel(id: i64) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
}

/// Opens a session's stream, resuming after an event if one is given.
fn get(session: &str, after: Option<&str>, version: Version) -> Request {
    let request = Request::new("GET", version)
        .header("Mcp-Session-Id", session)
        .header("MCP-Protocol-Version", version.date());
    match after {
        Some(id) => request.header("Last-Event-ID", id),
        None => request,
    }
}
