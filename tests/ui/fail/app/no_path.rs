use mcp_runtime::prelude::*;

#[app(uri = "ui://garden/chart")]
struct Chart;

#[app]
struct Other;

fn main() {}
