use mcp_runtime::prelude::*;

#[resource_template("notes:///{id}", list = notes)]
fn note(id: String) -> String {
    id
}

fn main() {}
