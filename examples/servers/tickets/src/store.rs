//! The database.

use std::time::Duration;

use chrono::{DateTime, Utc};
use mcp_runtime::prelude::*;
use sqlx::postgres::{PgPool, PgPoolOptions};
use uuid::Uuid;

use crate::tenant::Tenant;

/// A ticket.
#[data]
#[derive(Debug, sqlx::FromRow)]
pub struct Ticket {
    pub id: Uuid,
    pub title: String,
    pub body: String,
    pub priority: Priority,
    pub opened_at: DateTime<Utc>,
    pub closed_at: Option<DateTime<Utc>>,
    pub resolution: Option<String>,
}

/// The urgency of a ticket.
#[data]
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
#[serde(rename_all = "lowercase")]
#[sqlx(type_name = "text", rename_all = "lowercase")]
pub enum Priority {
    Low,
    Normal,
    High,
}

/// A failure of the store. Models read the variants that are exposed; the others are only logged.
#[expose]
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[expose]
    #[error("there is no ticket {0}; `list_tickets` finds those there are")]
    NoTicket(Uuid),
    #[expose]
    #[error("ticket {0} is closed already")]
    Closed(Uuid),
    #[error("there is no tenant `{0}`")]
    NoTenant(String),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    #[error(transparent)]
    Migration(#[from] sqlx::migrate::MigrateError),
}

type Result<T> = std::result::Result<T, StoreError>;

/// A pool of connections, which clones share.
#[derive(Clone)]
pub struct Store(PgPool);

impl Store {
    /// Opens no connection yet: commands such as `check` need no database.
    pub fn new(url: &str) -> Result<Self> {
        let pool = PgPoolOptions::new()
            .acquire_timeout(Duration::from_secs(5))
            .connect_lazy(url)?;
        Ok(Self(pool))
    }

    /// Brings the tables up to date. Instances that start at the same time wait for each other.
    pub async fn migrate(&self) -> Result<()> {
        Ok(sqlx::migrate!().run(&self.0).await?)
    }

    pub async fn ping(&self) -> Result<()> {
        sqlx::query("select 1").execute(&self.0).await?;
        Ok(())
    }

    pub async fn tenant(&self, name: &str) -> Result<Tenant> {
        let id = sqlx::query_scalar("select id from tenants where name = $1")
            .bind(name)
            .fetch_optional(&self.0)
            .await?;
        id.map(Tenant)
            .ok_or_else(|| StoreError::NoTenant(name.to_owned()))
    }

    pub async fn open(
        &self,
        tenant: Tenant,
        title: &str,
        body: &str,
        priority: Priority,
    ) -> Result<Ticket> {
        let ticket = sqlx::query_as(
            "insert into tickets (id, tenant, title, body, priority) values ($1, $2, $3, $4, $5) returning *",
        )
        .bind(Uuid::now_v7()) // ids grow with time, so they are also the order
        .bind(tenant.0)
        .bind(title)
        .bind(body)
        .bind(priority)
        .fetch_one(&self.0)
        .await?;
        Ok(ticket)
    }

    /// Returns tickets that are open, or closed, or either; those opened last come first.
    pub async fn list(
        &self,
        tenant: Tenant,
        open: Option<bool>,
        limit: i64,
    ) -> Result<Vec<Ticket>> {
        let tickets = sqlx::query_as(
            "select * from tickets where tenant = $1 and ($2 is null or (closed_at is null) = $2) \
             order by id desc limit $3",
        )
        .bind(tenant.0)
        .bind(open)
        .bind(limit)
        .fetch_all(&self.0)
        .await?;
        Ok(tickets)
    }

    pub async fn get(&self, tenant: Tenant, id: Uuid) -> Result<Option<Ticket>> {
        let ticket = sqlx::query_as("select * from tickets where tenant = $1 and id = $2")
            .bind(tenant.0)
            .bind(id)
            .fetch_optional(&self.0)
            .await?;
        Ok(ticket)
    }

    pub async fn close(&self, tenant: Tenant, id: Uuid, resolution: &str) -> Result<Ticket> {
        let closed = sqlx::query_as(
            "update tickets set closed_at = now(), resolution = $3 \
             where tenant = $1 and id = $2 and closed_at is null returning *",
        )
        .bind(tenant.0)
        .bind(id)
        .bind(resolution)
        .fetch_optional(&self.0)
        .await?;
        match closed {
            Some(ticket) => Ok(ticket),
            None if self.get(tenant, id).await?.is_some() => Err(StoreError::Closed(id)),
            None => Err(StoreError::NoTicket(id)),
        }
    }

    /// Counts the open tickets of all tenants.
    pub async fn count_open(&self) -> Result<i64> {
        let count = sqlx::query_scalar("select count(*) from tickets where closed_at is null");
        Ok(count.fetch_one(&self.0).await?)
    }
}

#[cfg(test)]
impl From<PgPool> for Store {
    fn from(pool: PgPool) -> Self {
        Self(pool)
    }
}
