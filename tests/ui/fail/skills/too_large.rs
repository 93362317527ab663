use mcp_runtime::prelude::*;

fn main() {
    let _ = new_server!().skills(skills!("skills/made/too_large"));
}
