use mcp_runtime::prelude::*;

#[app("/ui/chart.html")]
struct Chart;

fn main() {}
