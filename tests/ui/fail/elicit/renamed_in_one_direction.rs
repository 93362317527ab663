use mcp_runtime::prelude::*;

#[data]
#[derive(Elicit)]
#[serde(rename_all(serialize = "snake_case", deserialize = "camelCase"))]
struct Order {
    #[serde(rename(deserialize = "thing"))]
    first_item: String,
}

#[derive(Elicit)]
#[serde(rename_all = "snakecase")]
enum Size {
    Small,
}

fn main() {}
