use mcp_runtime::prelude::*;

#[app("ui/chart.html", uri = "https://garden/chart")]
struct Chart;

#[app("ui/chart.html", uri = "ui://my garden")]
struct Space;

fn main() {}
