//! The tools and resources.

use mcp_runtime::prelude::*;
use uuid::Uuid;

use crate::store::{Priority, Store, Ticket};
use crate::tenant::Tenant;

/// Opens a ticket.
#[tool]
async fn open_ticket(
    store: &State<Store>,
    tenant: Tenant,
    /// The problem in one line
    #[arg(length(1..=200))]
    title: &str,
    /// Steps of the customer, what happened, and what should have happened
    #[arg(length(1..=20_000))]
    body: &str,
    #[arg(default = "normal")] priority: Priority,
) -> Result<Json<Ticket>> {
    Ok(Json(store.open(tenant, title, body, priority).await?))
}

/// The tickets to list.
#[data(input)]
#[serde(rename_all = "lowercase")]
enum Status {
    Open,
    Closed,
}

/// Lists tickets, those opened last first.
#[tool(read_only, text = "table")]
async fn list_tickets(
    store: &State<Store>,
    tenant: Tenant,
    /// All if omitted
    status: Option<Status>,
    /// Maximum number of tickets
    #[arg(range(1..=100), default = 20)]
    limit: i64,
) -> Result<Json<Vec<Ticket>>> {
    let open = status.map(|status| matches!(status, Status::Open));
    Ok(Json(store.list(tenant, open, limit).await?))
}

/// Closes a ticket.
#[tool(destructive)]
async fn close_ticket(
    ctx: &Context,
    store: &State<Store>,
    tenant: Tenant,
    /// Id of an open ticket
    id: Uuid,
    /// The solution; the customer reads this
    #[arg(length(1..=2_000))]
    resolution: &str,
) -> Result<Json<Ticket>> {
    let ticket = store.close(tenant, id, resolution).await?;
    ctx.server()
        .notify()
        .resource_updated(format!("ticket:///{id}"));
    Ok(Json(ticket))
}

/// One ticket.
#[resource_template("ticket:///{id}")]
async fn ticket(store: &State<Store>, tenant: Tenant, id: Uuid) -> Result<Option<Json<Ticket>>> {
    Ok(store.get(tenant, id).await?.map(Json))
}
