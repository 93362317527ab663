use mcp_runtime::prelude::*;

fn main() {
    let _ = new_server!().with(skills!("skills/made/links"));
}
