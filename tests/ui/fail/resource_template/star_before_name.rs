use mcp_runtime::prelude::*;

#[resource_template("notes:///{*ids}")]
fn notes(ids: Vec<u32>) -> String {
    format!("{ids:?}")
}

fn main() {}
