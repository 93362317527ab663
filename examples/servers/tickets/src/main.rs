//! Support tickets in Postgres, kept apart by tenant.
//!
//! | Started as | Serves |
//! |---|---|
//! | `tickets` | standard input and output, for the tenant in `TICKETS_TENANT` |
//! | `TICKETS_LISTEN=127.0.0.1:8000 tickets` | HTTP behind a gateway, which names the tenant in the header `X-Tenant` |
//!
//! `tickets --help` lists all settings. Migrations run at the start. A new tenant is a row:
//! `insert into tenants (name) values ('acme')`.

mod http;
mod store;
mod tenant;
#[cfg(test)]
mod tests;
mod tools;

use mcp_runtime::prelude::*;
use mcp_runtime::server::Secret;

use crate::http::Settings;
use crate::store::Store;

/// The database. The variables begin with `DATABASE_`.
#[data(input)]
struct Database {
    /// Connection string of the database; by default `postgres://localhost/tickets`
    url: Option<Secret<String>>,
}

#[mcp_runtime::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = new_server!()
        .env::<Database>("DATABASE_")
        .env::<Settings>("TICKETS_")
        .header_from_env("x-tenant", "TICKETS_TENANT");
    let (database, settings) = (
        server.env_value::<Database>()?,
        server.env_value::<Settings>()?,
    );
    let url = database.url.as_ref().map(Secret::expose_secret);
    let store = Store::new(url.map_or("postgres://localhost/tickets", String::as_str))?;

    let server = configure(server, store.clone());
    let Some(server) = server.command_line().await? else {
        return Ok(()); // a command such as `check` was run
    };
    match &settings.listen {
        Some(address) => http::serve(server, address, &settings, store).await,
        None => Ok(server.run().await?),
    }
}

/// Adds everything that does not come from the environment.
fn configure(server: Server, store: Store) -> Server {
    let database = store.clone();
    server
        .instructions("Look for an open ticket about the same problem before you open another one.")
        .ready_check("database", move || {
            let database = database.clone();
            async move { database.ping().await }
        })
        .state_with(move || {
            let store = store.clone();
            async move { store.migrate().await.map(|()| store) }
        })
}
