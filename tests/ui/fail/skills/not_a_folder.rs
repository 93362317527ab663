use mcp_runtime::prelude::*;

fn main() {
    let _ = new_server!().skills(skills!());
    let _ = new_server!().skills(skills!(42));
    let _ = new_server!().skills(skills!("skills/fine", watch));
    let _ = new_server!().skills(skills!("skills/fine" "more"));
}
