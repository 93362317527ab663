//! Calls whose handlers are run again.

use std::time::Duration;

use mcp_runtime::middleware::retry;
use mcp_runtime::prelude::*;
use serde_json::json;
use tests::Version;

use super::ready_made::{Calls, Charges, server};
use crate::support::connect;

#[tokio::test(start_paused = true)]
async fn temporary_failures_are_retried_with_growing_pauses() {
    let temporary = |error: &HandlerError| {
        let cause = error.cause()?.downcast_ref::<std::io::Error>()?;
        Some(cause.kind() == std::io::ErrorKind::TimedOut)
    };
    for version in Version::ERAS {
        let (server, calls) = server();
        let server = server.middleware(retry(4, move |_, error| temporary(error) == Some(true)));
        let mut client = connect(server, version).await;
        let begun = tokio::time::Instant::now();
        assert_eq!(client.text("unreliable", json!({"until": 3})).await, "3");
        let waited = begun.elapsed();
        let bounds = Duration::from_millis(150)..=Duration::from_millis(310);
        assert!(bounds.contains(&waited), "{waited:?}");
        // There are at most four attempts.
        let failed = client.refused("unreliable", json!({"until": 100})).await;
        assert!(failed.starts_with("internal error"), "{failed}");
        assert_eq!(calls.so_far(), 7);
        // Errors for the model are not temporary.
        client.refused("refuses", json!({})).await;
        assert_eq!(calls.so_far(), 8);
    }
}

/// The name of a user.
#[derive(Elicit)]
struct Name {
    name: String,
}

/// Asks and charges, and then fails until it has been called so often.
#[tool(tags("ready-made"))]
async fn pays(
    ctx: Context,
    calls: State<Calls>,
    charges: State<Charges>,
    until: u32,
) -> Result<String> {
    let Name { name } = ctx.elicit("Who?").await?;
    let charge = async || Ok(charges.0.next());
    let receipt: u32 = ctx.once("charge", charge).await?;
    // Asking the same question again uses a different key.
    let Name { name: other } = ctx.elicit("Who?").await?;
    if calls.next() < until {
        Err(std::io::Error::from(std::io::ErrorKind::TimedOut))?;
    }
    Ok(format!("{name} {other} {receipt}"))
}

#[tokio::test(start_paused = true)]
async fn a_retry_repeats_neither_elicitations_nor_once_steps() {
    for version in Version::ERAS {
        let (server, calls) = server();
        let charges = Charges::default();
        let server = server
            .state(charges.clone())
            .middleware(retry(4, |_, error| error.cause().is_some()));
        let mut client = crate::support::raw(server, version);
        client.capabilities = json!({"elicitation": {"form": {}}});
        let mut client = client.connect().await;
        let mut answers = ["Ada", "Bob"].into_iter();
        client.answer(move |_| tests::Answer::accept(json!({"name": answers.next().unwrap()})));
        let params = json!({"name": "pays", "arguments": {"until": 3}});
        let result = client.ask("tools/call", params).await.unwrap();
        assert_eq!(result["content"][0]["text"], "Ada Bob 1", "{version:?}");
        assert_eq!((calls.so_far(), charges.0.so_far()), (3, 1));
    }
}

/// Uses the same name twice, which retrying cannot fix.
#[tool(tags("ready-made"))]
async fn pays_twice(ctx: Context) -> Result<u32> {
    let one: u32 = ctx.once("charge", async || Ok(1)).await?;
    let two: u32 = ctx.once("charge", async || Ok(2)).await?;
    Ok(one + two)
}

#[tokio::test(start_paused = true)]
async fn a_name_is_used_once_in_each_run() {
    for version in Version::ERAS {
        let (server, _) = server();
        let server = server.middleware(retry(3, |_, _| true));
        let mut client = connect(server, version).await;
        let failed = client.refused("pays_twice", json!({})).await;
        assert!(
            failed.contains("internal error") || failed.contains("used twice"),
            "{failed}"
        );
    }
}
