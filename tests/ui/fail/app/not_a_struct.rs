use mcp_runtime::prelude::*;

#[app("ui/chart.html")]
fn chart() {}

#[app("ui/chart.html")]
struct Chart {
    title: String,
}

fn main() {}
