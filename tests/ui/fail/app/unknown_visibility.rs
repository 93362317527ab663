use mcp_runtime::prelude::*;

#[tool(visibility(modle))]
fn sales() {}

#[tool(visibility())]
fn nobody() {}

fn main() {}
