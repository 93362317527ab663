use mcp_runtime::prelude::*;

#[app("ui/chart.html", csp(connect_domains = "https://api.example.com"))]
struct Chart;

fn main() {}
