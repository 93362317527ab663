//! What is done once when rounds are cut off, or arrive together, over every link of the modern era.

use serde_json::{Value, json};
use tests::asking::{Setup, able};
use tests::{Answer, Client, Link, Revision, Served};

async fn ada(served: &mut Served) -> Client {
    let mut client = served.client(Revision::E);
    client.capabilities = able();
    client.answer(|_| Answer::accept(json!({"name": "Ada"})));
    client
}

fn setup(store: bool) -> Setup {
    Setup {
        store,
        ..Setup::default()
    }
}

/// The second round of a call of this tool.
async fn second_round(client: &mut Client, tool: &str) -> Value {
    let params = json!({"name": tool, "arguments": {}});
    let asked = client.ok("tools/call", params.clone()).await;
    client.retry(&params, &asked)
}

// Covers: MRTR-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_cut_off_in_the_middle_is_not_done_again_if_there_is_a_store() {
    for (link, _) in Link::visits(&[Revision::E]) {
        for store in [false, true] {
            let setup = setup(store);
            let mut served = Served::start(link, &setup).await;
            let mut client = ada(&mut served).await;
            let round = second_round(&mut client, "stuck_at_first").await;
            let id = client.start("tools/call", round.clone()).await;
            setup.ledger.until("after", 1).await;
            client.cancel(&id).await;
            // One run for each round so far.
            setup.ledger.until("dropped", 2).await;
            let result = client.ok("tools/call", round).await;
            let text = result["content"][0]["text"].as_str().unwrap();
            if store {
                assert!(text.contains("it is not done again"), "{text}");
            } else {
                assert_eq!(text, "Ada");
            }
            let done = setup.ledger.count("after");
            assert_eq!(done, if store { 1 } else { 2 }, "{link:?}");
        }
    }
}

// Covers: MRTR-11, HTTP-09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_goes_in_the_middle_of_a_round_ends_it() {
    for (link, _) in Link::visits(&[Revision::E]) {
        let setup = Setup {
            drain_ms: Some(50),
            ..setup(true)
        };
        let mut served = Served::start(link, &setup).await;
        let mut client = ada(&mut served).await;
        let round = second_round(&mut client, "stuck_at_first").await;
        client.start("tools/call", round.clone()).await;
        setup.ledger.until("after", 1).await;
        drop(client);
        setup.ledger.until("dropped", 2).await;
        served.ended().await;
        if link != Link::Stdio {
            // Another connection to the same server goes no further.
            let mut client = ada(&mut served).await;
            let result = client.ok("tools/call", round).await;
            assert_eq!(result["isError"], true, "{result}");
        }
        assert_eq!(setup.ledger.count("after"), 1, "{link:?}");
    }
}

// Covers: MRTR-06
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rounds_that_arrive_together_do_it_once_if_there_is_a_store() {
    for (link, _) in Link::visits(&[Revision::E]) {
        let setup = setup(true);
        let mut served = Served::start(link, &setup).await;
        let mut client = ada(&mut served).await;
        let round = second_round(&mut client, "one").await;
        let mut ids = Vec::new();
        for _ in 0..8 {
            ids.push(client.start("tools/call", round.clone()).await);
        }
        let mut greeted = 0;
        for id in ids {
            let result = client.response(&id).await.unwrap();
            let text = result["content"][0]["text"].as_str().unwrap();
            // Whoever comes while it is being done is told that it is not known what it came to.
            assert!(
                text == "Hello, Ada!" || text.contains("was begun before"),
                "{text}"
            );
            greeted += usize::from(text == "Hello, Ada!");
        }
        assert!(greeted >= 1);
        let done = ["before", "after"].map(|what| setup.ledger.count(what));
        assert_eq!(done, [1, 1], "{link:?}");
    }
}
