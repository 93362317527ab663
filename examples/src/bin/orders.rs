//! Calls that are safe to repeat: an order that is placed only once, and an email that is sent when it succeeds.

use std::sync::atomic::{AtomicU32, Ordering};

use mcp_runtime::prelude::*;

/// Number of orders so far.
#[derive(Default)]
struct Orders(AtomicU32);

/// Places an order. To repeat a call whose result is unknown, use the same cart.
#[tool(idempotent_by = "cart_id")]
async fn place_order(
    ctx: &Context,
    orders: State<Orders>,
    /// The shopping cart's number
    cart_id: String,
    /// The item to order
    item: String,
) -> Result<String> {
    if item.is_empty() {
        // A failure is not kept, so the same cart can be used again.
        bail!("the cart is empty");
    }
    let number = orders.0.fetch_add(1, Ordering::Relaxed) + 1;
    ctx.on_commit(async move {
        tracing::info!("a mail about order {number}: {item}");
        Ok(())
    });
    Ok(format!("cart {cart_id} is order {number}"))
}

/// Returns the number of orders.
#[tool(read_only)]
fn count_orders(orders: &State<Orders>) -> u32 {
    orders.0.load(Ordering::Relaxed)
}

#[mcp_runtime::main]
async fn main() -> Result<(), mcp_runtime::Error> {
    new_server!()
        .state(Orders::default())
        .with(mcp_runtime::extension::IdempotencyKeys)
        .run()
        .await
}
