use mcp_runtime::prelude::*;

#[tool(name = "a_name_that_goes_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_")]
fn add() -> String {
    String::new()
}

fn main() {}
