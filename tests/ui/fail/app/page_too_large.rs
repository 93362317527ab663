use mcp_runtime::prelude::*;

#[app("ui/large.html")]
struct Large;

fn main() {}
