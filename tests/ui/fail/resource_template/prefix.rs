use mcp_runtime::prelude::*;

#[resource_template("notes:///{id:3}")]
fn note(id: String) -> String {
    id
}

fn main() {}
