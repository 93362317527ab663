use mcp_runtime::prelude::*;

/// Reading twice does no harm.
#[tool(read_only, idempotent_by = "order_id")]
fn reading(order_id: u64) -> u64 {
    order_id
}

#[tool(idempotent_by = "shop, shop")]
fn twice(shop: String) -> String {
    shop
}

#[tool(idempotent_by = "shop,")]
fn nothing(shop: String) -> String {
    shop
}

#[tool(idempotent_by)]
fn without_a_name(shop: String) -> String {
    shop
}

fn main() {}
