use mcp_runtime::prelude::*;

fn main() {
    let _ = new_server!().with(skills!());
    let _ = new_server!().with(skills!(42));
    let _ = new_server!().with(skills!("skills/fine", watch));
    let _ = new_server!().with(skills!("skills/fine" "more"));
}
