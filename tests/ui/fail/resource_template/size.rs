use mcp_runtime::prelude::*;

#[resource_template("notes:///{id}", size = 5)]
fn note(id: String) -> String {
    id
}

fn main() {}
