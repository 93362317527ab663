use mcp_runtime::prelude::*;

#[expose]
struct NotAnError;

#[expose]
struct Generic<T>(T);

#[expose]
fn not_a_type() {}

fn main() {}
