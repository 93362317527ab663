use mcp_runtime::prelude::*;

#[app("ui/chart.html", csp(conect_domains("https://api.example.com")))]
struct Chart;

fn main() {}
