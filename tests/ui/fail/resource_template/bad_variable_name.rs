use mcp_runtime::prelude::*;

#[resource_template("notes:///{note-id}")]
fn note(id: String) -> String {
    id
}

fn main() {}
