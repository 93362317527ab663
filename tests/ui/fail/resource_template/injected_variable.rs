use mcp_runtime::prelude::*;

struct Shelf;

#[resource_template("notes:///{shelf}/{id}")]
fn note(shelf: State<Shelf>, id: u32) -> String {
    let _ = shelf;
    id.to_string()
}

fn main() {}
