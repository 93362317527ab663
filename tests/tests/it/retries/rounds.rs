//! Calls with a key that ask their client questions.

use serde_json::json;
use tests::{Answer, Client, Version};

use super::{Shop, call, client, hasty_client, text};

async fn asked_client(shop: &Shop, version: Version) -> Client {
    let mut client = client(shop, version).await;
    client.answer(|_| Answer::accept(json!({"sure": true})));
    client
}

#[tokio::test]
async fn the_rounds_of_a_call_are_one_call() {
    for version in [Version::V2025_11_25, Version::V2026_07_28] {
        let shop = Shop::new();
        let (transport, stream) = mcp_runtime::transport::memory();
        tokio::spawn(super::server(&shop).serve(transport));
        let (reader, writer) = tokio::io::split(stream);
        let mut client = Client::new(reader, writer, version);
        client.capabilities = json!({"elicitation": {}});
        let mut client = client.connect().await;
        client.answer(|_| Answer::accept(json!({"sure": true})));
        let params = call("place_if_sure", 7);
        let first = client.ask("tools/call", params.clone()).await.unwrap();
        assert_eq!(text(&first), "order 7 is number 1");
        assert_eq!(client.asked.len(), 2);
        // A repeat asks nothing.
        let again = client.ask("tools/call", params).await.unwrap();
        assert_eq!(again, first);
        assert_eq!((client.asked.len(), shop.orders()), (2, 1));
    }
}

#[tokio::test]
async fn a_repeated_round_gets_the_input_requests_again_or_the_result() {
    let shop = Shop::new();
    let mut client = asked_client(&shop, Version::V2026_07_28).await;
    client.capabilities = json!({"elicitation": {}});
    let params = call("place_if_sure", 7);
    let asked = client.ok("tools/call", params.clone()).await;
    let second = client.retry(&params, &asked);
    let asked = client.ok("tools/call", second.clone()).await;
    // The answer to the second round was lost.
    let again = client.ok("tools/call", second).await;
    assert_eq!(again["inputRequests"], asked["inputRequests"]);
    let third = client.retry(&params, &asked);
    let result = client.ok("tools/call", third.clone()).await;
    assert_eq!(text(&result), "order 7 is number 1");
    assert_eq!(client.ok("tools/call", third).await, result);
    assert_eq!(shop.orders(), 1);
}

#[tokio::test(start_paused = true)]
async fn another_call_does_not_run_while_the_first_waits_for_an_answer() {
    let shop = Shop::new();
    let mut client = hasty_client(&shop, Version::V2026_07_28).await;
    client.answer(|_| Answer::accept(json!({"sure": true})));
    client.capabilities = json!({"elicitation": {}});
    let params = call("place_if_sure", 7);
    let asked = client.ok("tools/call", params.clone()).await;
    let refused = client.ok("tools/call", params.clone()).await;
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(
        text(&refused).contains("or waiting for an answer"),
        "{refused}"
    );
    // The first call continues.
    let second = client.retry(&params, &asked);
    let asked = client.ok("tools/call", second).await;
    let third = client.retry(&params, &asked);
    let result = client.ok("tools/call", third).await;
    assert_eq!(text(&result), "order 7 is number 1");
}

#[tokio::test]
async fn a_call_that_fails_in_a_later_round_can_be_repeated() {
    let shop = Shop::new();
    let mut client = asked_client(&shop, Version::V2026_07_28).await;
    client.capabilities = json!({"elicitation": {}});
    let mut asked = 0;
    client.answer(move |_| {
        asked += 1;
        Answer::accept(json!({"sure": asked != 2}))
    });
    let params = call("place_if_sure", 7);
    let refused = client.ask("tools/call", params.clone()).await.unwrap();
    assert_eq!(text(&refused), "the user is not sure");
    let placed = client.ask("tools/call", params).await.unwrap();
    assert_eq!(text(&placed), "order 7 is number 1");
}
