use mcp_runtime::prelude::*;

#[resource_template("notes:///{id}")]
fn note(#[arg(any_path)] id: u32) -> String {
    id.to_string()
}

fn main() {}
