use mcp_runtime::prelude::*;

struct MyErr;

#[tool]
fn add() -> Result<i64, MyErr> {
    Err(MyErr)
}

fn main() {}
