use mcp_runtime::prelude::*;

#[resource_template("notes:///all")]
fn note() -> String {
    String::new()
}

fn main() {}
