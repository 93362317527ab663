use mcp_runtime::prelude::*;

#[resource_template("notes:///{topic}/{note_id}")]
fn note(topc: &str, noteid: u32) -> String {
    format!("{topc} {noteid}")
}

fn main() {}
