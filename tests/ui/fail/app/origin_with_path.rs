use mcp_runtime::prelude::*;

#[app(
    "ui/chart.html",
    csp(
        connect_domains("api.example.com", "https://a.com; script-src *"),
        resource_domains("https://cdn.example.com/lib")
    )
)]
struct Chart;

fn main() {}
