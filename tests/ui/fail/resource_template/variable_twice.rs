use mcp_runtime::prelude::*;

#[resource_template("notes:///{id}/{id}")]
fn note(id: String) -> String {
    id
}

fn main() {}
