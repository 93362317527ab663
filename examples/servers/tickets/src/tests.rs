//! The tools in both eras, on a database that each test has to itself: `DATABASE_URL=… cargo test`.

use mcp_runtime::ProtocolVersion;
use mcp_runtime::prelude::*;
use mcp_runtime::testing::TestClient;
use sqlx::PgPool;

use crate::configure;
use crate::store::{Priority, Store, Ticket};

/// Returns a client of each era, with a token of this tenant. Ids and times differ, so the two do not take turns as
/// one.
async fn clients(pool: &PgPool, tenant: &str) -> [TestClient; 2] {
    sqlx::query("insert into tenants (name) values ($1)")
        .bind(tenant)
        .execute(pool)
        .await
        .unwrap();
    let connect = async |version| {
        let claims = json!({"tenant": tenant}).as_object().unwrap().clone();
        let agent = Principal::new("agent").with_claims(claims);
        let server = configure(new_server!(), Store::from(pool.clone()));
        TestClient::new(server, version).as_principal(agent).await
    };
    [
        connect(ProtocolVersion::V2025_11_25).await,
        connect(ProtocolVersion::V2026_07_28).await,
    ]
}

async fn open(client: &TestClient, title: &str) -> Ticket {
    let arguments = json!({"title": title, "body": "It does not print.", "priority": "high"});
    client
        .call("open_ticket", arguments)
        .await
        .unwrap()
        .structured()
}

#[sqlx::test]
async fn a_ticket_is_opened_listed_and_closed_once(pool: PgPool) {
    for client in clients(&pool, "acme").await {
        let ticket = open(&client, "Printer").await;
        assert_eq!((ticket.priority, ticket.closed_at), (Priority::High, None));

        let listed = client
            .call("list_tickets", json!({"status": "open"}))
            .await
            .unwrap();
        assert!(listed.text().contains("|Printer|"), "{}", listed.text());

        let close = json!({"id": ticket.id, "resolution": "Switched it on."});
        let closed = client.call("close_ticket", close.clone()).await.unwrap();
        assert!(closed.structured::<Ticket>().closed_at.is_some());
        let again = client.call("close_ticket", close).await.unwrap();
        assert_eq!(
            again.error_text(),
            format!("ticket {} is closed already", ticket.id)
        );

        let open = client
            .call("list_tickets", json!({"status": "open"}))
            .await
            .unwrap();
        assert_eq!(open.structured::<Vec<Ticket>>().len(), 0);
    }
}

#[sqlx::test]
async fn tenants_do_not_see_each_other(pool: PgPool) {
    let acme = clients(&pool, "acme").await;
    let other = clients(&pool, "other").await;
    for (acme, other) in acme.iter().zip(&other) {
        let ticket = open(acme, "Printer").await;
        let uri = format!("ticket:///{}", ticket.id);
        let read: Ticket =
            mcp_runtime::serde_json::from_str(&acme.read(&uri).await.unwrap().text()).unwrap();
        assert_eq!(read.title, "Printer");

        other.read(&uri).await.unwrap_err();
        let close = json!({"id": ticket.id, "resolution": "Mine now."});
        let refused = other.call("close_ticket", close).await.unwrap();
        assert!(refused.error_text().starts_with("there is no ticket"));
        let listed = other.call("list_tickets", json!({})).await.unwrap();
        assert_eq!(listed.structured::<Vec<Ticket>>().len(), 0);
    }
}

#[sqlx::test]
async fn errors_of_the_database_are_not_shown(pool: PgPool) {
    let clients = clients(&pool, "acme").await;
    sqlx::query("drop table tickets")
        .execute(&pool)
        .await
        .unwrap();
    for client in clients {
        let failed = client.call("list_tickets", json!({})).await.unwrap();
        assert!(
            failed.error_text().starts_with("internal error"),
            "{}",
            failed.error_text()
        );
    }
}

#[sqlx::test]
async fn a_caller_without_a_tenant_is_refused(pool: PgPool) {
    let server = || configure(new_server!(), Store::from(pool.clone()));
    let client = TestClient::each(server).await;
    let refused = client.call("list_tickets", json!({})).await.unwrap();
    assert!(
        refused
            .error_text()
            .starts_with("the request belongs to no tenant")
    );
}
