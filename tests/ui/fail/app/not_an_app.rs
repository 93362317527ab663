use mcp_runtime::prelude::*;

struct Chart;

#[tool(app = Chart)]
fn sales() {}

fn main() {}
