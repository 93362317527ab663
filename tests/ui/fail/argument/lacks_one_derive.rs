use mcp_runtime::prelude::*;
use mcp_runtime::{schemars, serde};

#[derive(serde::Deserialize)]
#[serde(crate = "mcp_runtime::serde")]
struct WithoutSchema;

#[derive(schemars::JsonSchema)]
#[schemars(crate = "mcp_runtime::schemars")]
struct WithoutDeserialize;

#[tool]
fn alone(value: WithoutSchema) -> String {
    let _ = value;
    String::new()
}

#[tool]
fn inside(values: Option<Vec<WithoutDeserialize>>) -> String {
    let _ = values;
    String::new()
}

fn main() {}
