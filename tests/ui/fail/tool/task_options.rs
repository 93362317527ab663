use mcp_runtime::prelude::*;

#[tool(task(attempts = 0))]
fn never() {}

#[tool(task(attempts = "three"))]
fn in_words() {}

#[tool(task(ttl = "long"))]
fn long() {}

#[tool(task(poll = 5))]
fn without_a_unit() {}

#[tool(task(concurrency = 4))]
fn concurrency_of_the_tool() {}

#[tool(task = always)]
fn always() {}

fn main() {}
