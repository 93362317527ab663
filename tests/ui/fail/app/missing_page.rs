use mcp_runtime::prelude::*;

#[app("ui/chrat.html")]
struct Chart;

// Only the page is reported, not the tool that names it.
#[tool(app = Chart)]
fn sales() {}

#[app("ui/nothing_like_it.html")]
struct Other;

fn main() {}
