use std::time::{Duration, SystemTime};

use mcp_runtime::prelude::*;

#[tool]
fn wait(time: Duration, more: Option<Duration>) -> String {
    let _ = (time, more);
    String::new()
}

#[tool]
fn remind(at: &SystemTime) -> String {
    let _ = at;
    String::new()
}

#[tool(schema = r#"{"type": "object", "properties": {"time": {"type": "object"}}}"#)]
fn raw(time: Duration) -> String {
    let _ = time;
    String::new()
}

fn main() {}
