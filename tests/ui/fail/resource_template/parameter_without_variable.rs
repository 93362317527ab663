use mcp_runtime::prelude::*;

#[resource_template("notes:///{id}")]
fn note(ctx: Context, id: String, part: u8) -> String {
    let _ = ctx;
    format!("{id}{part}")
}

fn main() {}
