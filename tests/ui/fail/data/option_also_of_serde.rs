use mcp_runtime::prelude::*;

#[data(input)]
struct Order {
    #[arg(name = "articleNumber", pattern = "^[A-Z]+$")]
    #[serde(rename = "number")]
    #[schemars(regex(pattern = "^[a-z]+$"))]
    article: String,
    #[arg(range(1..), default = 1)]
    #[schemars(extend("minimum" = 2))]
    #[serde(default)]
    quantity: u8,
    #[arg(length(..=3), items(length(..=20)))]
    #[schemars(length(max = 3), inner(length(max = 20)))]
    labels: Vec<String>,
}

fn main() {}
