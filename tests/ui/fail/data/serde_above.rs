use mcp_runtime::prelude::*;

#[serde(rename_all = "camelCase")]
#[data]
struct Place {
    zip_code: String,
}

fn main() {}
