use mcp_runtime::prelude::*;

#[app("ui/binary.html")]
struct Binary;

#[app("ui")]
struct Folder;

fn main() {}
