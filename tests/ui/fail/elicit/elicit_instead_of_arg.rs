use mcp_runtime::prelude::*;

/// An order.
#[derive(Elicit)]
struct Order {
    #[elicit(range(1..=5), default = 3)]
    count: u8,
    kind: Kind,
}

/// A kind.
#[derive(Elicit)]
enum Kind {
    #[elicit(title = "As small as can be")]
    Small,
}

/// Orders.
#[tool]
async fn order(ctx: &Context) -> Result<String> {
    let order: Order = ctx.elicit("What?").await?;
    let _ = order.kind;
    Ok(order.count.to_string())
}

fn main() {}
