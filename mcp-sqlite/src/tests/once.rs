//! Results of `once` in calls that are not tasks.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_runtime::Server;
use mcp_runtime::once::{check_once_limits, few_once_entries};
use mcp_runtime::prelude::*;
use mcp_runtime::serde_json::json;
use mcp_runtime::testing::TestClient;

use super::{Folder, used};
use crate::{Sqlite, SqliteOptions};

#[tokio::test]
async fn each_caller_has_a_share_of_the_entries_and_bytes() {
    let folder = Folder::new();
    let options = SqliteOptions::new().limits(few_once_entries());
    check_once_limits(&options.open(folder.file()).unwrap()).await;
}

/// Makes a payment and returns the number of payments so far.
#[tool]
async fn pay(ctx: &Context, paid: State<AtomicUsize>) -> Result<usize> {
    let pay = ctx.once("pay", async || Ok(paid.fetch_add(1, Ordering::Relaxed) + 1));
    pay.await
}

#[derive(Elicit)]
struct Sure {
    sure: bool,
}

/// Makes a payment after a question.
#[tool]
async fn ask_and_pay(ctx: &Context, paid: State<AtomicUsize>) -> Result<usize> {
    let Sure { sure: true } = ctx.elicit("Sure?").await? else {
        bail!("not sure");
    };
    pay(ctx, paid).await
}

fn server(store: &Sqlite) -> Server {
    let server = new_server!().state(AtomicUsize::new(0));
    server.once_store(store.clone())
}

async fn kept(store: &Sqlite) -> Vec<String> {
    let kept = store.0.writer.read(|db| {
        let mut select = db.prepare("SELECT name || result FROM once")?;
        let rows = select.query_map([], |row| row.get(0))?;
        rows.collect::<Result<_, _>>()
    });
    kept.await.unwrap()
}

#[tokio::test]
async fn the_steps_of_a_call_are_kept_only_if_its_client_can_continue_it() {
    let folder = Folder::new();
    let store = Sqlite::open(folder.file()).unwrap();
    let client = TestClient::modern(server(&store)).await;
    let paid = client.call("pay", json!({})).await.unwrap();
    assert_eq!(paid.text(), "1");
    let forgotten = async {
        while !kept(&store).await.is_empty() {
            tokio::task::yield_now().await;
        }
    };
    let forgotten = tokio::time::timeout(Duration::from_secs(60), forgotten).await;
    forgotten.expect("the steps of a call without questions are forgotten at its end");
    client.answer(Sure { sure: true });
    let paid = client.call("ask_and_pay", json!({})).await.unwrap();
    assert_eq!(paid.text(), "2");
    assert_eq!(kept(&store).await, ["pay2"]);
    // A name of three bytes and a result of one byte.
    let used = used(&store).await;
    assert_eq!(used, ["all 0 0", "step 1 4", "step of trusted 1 4"]);
    let removed = store
        .0
        .writer
        .write(|db| db.execute("DELETE FROM once", []));
    assert_eq!(removed.await.unwrap(), 1);
    assert_eq!(super::used(&store).await, ["all 0 0", "step 0 0"]);
}
