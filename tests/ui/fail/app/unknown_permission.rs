use mcp_runtime::prelude::*;

#[app("ui/chart.html", permissions(camra))]
struct Chart;

fn main() {}
