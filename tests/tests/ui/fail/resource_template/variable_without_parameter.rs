use mcp_runtime::prelude::*;

#[resource_template("notes:///{id}")]
fn note(key: String) -> String {
    key
}

fn main() {}
