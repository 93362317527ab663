use mcp_runtime::prelude::*;

fn notes(id: u8) -> String {
    id.to_string()
}

#[resource_template("notes:///{id}", list = notes)]
fn note(id: String) -> String {
    id
}

fn main() {}
