use mcp_runtime::prelude::*;

/// The orders.
struct Orders;

/// Its argument has another name.
#[tool(idempotent_by = "orderid")]
fn misspelt(order_id: u64) -> u64 {
    order_id
}

/// A value that is not an argument.
#[tool(idempotent_by = "orders")]
fn injected(orders: State<Orders>, number: u64) -> u64 {
    let _ = orders;
    number
}

/// An order.
#[data]
struct Order {
    order_id: u64,
}

#[tool(idempotent_by = "order")]
fn flattened(#[arg(flatten)] order: Order) -> u64 {
    order.order_id
}

/// A tool without parameters.
#[tool(idempotent_by = "order_id")]
fn empty() {}

fn main() {}
