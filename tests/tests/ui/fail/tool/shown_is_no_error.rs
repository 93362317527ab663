use mcp_runtime::prelude::*;

#[shown]
struct NotAnError;

#[shown]
struct Generic<T>(T);

#[shown]
fn not_a_type() {}

fn main() {}
