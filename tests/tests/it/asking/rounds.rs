//! Questions that end a round, in the modern era.

use mcp_runtime::Limits;
use mcp_runtime::server::SealingKey;
use mcp_runtime_sqlite::{Sqlite, SqliteOptions};
use serde_json::json;
use tests::asking::Setup;
use tests::{Answer, Version};

use super::{able, client, client_of, refusal, server, text};
use crate::backend::Folder;

// Covers: MRTR-10, MRTR-15
#[tokio::test]
async fn answers_in_the_first_request_are_used_by_key_and_others_ignored() {
    let (mut client, ledger) = client(Version::V2026_07_28).await;
    let hello = json!({"action": "accept", "content": {"name": "Bo"}});
    let params = json!({"name": "one", "inputResponses": {"user_name": hello, "unknown": {"x": 1}, "other": 5}});
    let result = client.request("tools/call", params).await.unwrap();
    assert_eq!(result["content"][0]["text"], "Hello, Bo!");
    assert_eq!(ledger.count("run"), 1);
    for responses in [
        json!({"wrong_key": hello}),
        json!({"user_name": 12345}),
        json!({}),
        json!(null),
    ] {
        let params = json!({"name": "one", "inputResponses": responses});
        let result = client.request("tools/call", params).await.unwrap();
        assert_eq!(result["resultType"], "input_required");
    }
    for responses in [json!([]), json!("x"), json!(5)] {
        let params = json!({"name": "one", "inputResponses": responses});
        client.fails("tools/call", params, -32602).await;
    }
}

// Covers: MRTR-10
#[tokio::test]
async fn a_missing_answer_is_requested_again_and_the_others_are_kept() {
    let (mut client, _) = client(Version::V2026_07_28).await;
    let params = json!({"name": "three_kinds"});
    let mut result = client.request("tools/call", params.clone()).await.unwrap();
    for left in [3, 2, 1] {
        let requests = result["inputRequests"].as_object().unwrap();
        assert_eq!(requests.len(), left);
        let first = requests.keys().next().unwrap().clone();
        let mut next = client.retry(&params, &result);
        let answers = next["inputResponses"].as_object_mut().unwrap();
        answers.retain(|key, _| *key == first);
        result = client.request("tools/call", next).await.unwrap();
    }
    assert_eq!(result["content"][0]["text"], "Ada Paris file:///r");
}

// Covers: MRTR-08, MRTR-09
#[tokio::test]
async fn a_forged_state_or_the_state_of_another_call_is_refused() {
    let (mut client, ledger) = client(Version::V2026_07_28).await;
    let params = json!({"name": "one", "arguments": {}});
    let result = client.request("tools/call", params.clone()).await.unwrap();
    let next = client.retry(&params, &result);
    let state = next["requestState"].as_str().unwrap().to_owned();
    let runs = ledger.count("run");
    for tampered in [
        json!(format!("{state}-TAMPERED")),
        json!(format!("{state}=")),
        json!(state[..state.len() - 1]),
        json!(""),
        json!("x".repeat(20_000)),
        json!(5),
    ] {
        let mut next = next.clone();
        next["requestState"] = tampered;
        client.fails("tools/call", next.clone(), -32602).await;
        next.as_object_mut().unwrap().remove("inputResponses");
        client.fails("tools/call", next, -32602).await;
    }
    for (member, value) in [("name", json!("outcome")), ("arguments", json!({"a": 1}))] {
        let mut next = next.clone();
        next[member] = value;
        client.fails("tools/call", next, -32602).await;
    }
    // This also applies to handlers that ask no questions: a state must be valid if it is present.
    assert_eq!(ledger.count("run"), runs);
    let result = client.request("tools/call", next).await.unwrap();
    assert_eq!(result["content"][0]["text"], "Hello, Ada!");
}

// Covers: MRTR-06, MRTR-09, SEC-12
#[tokio::test]
async fn rounds_may_land_on_different_instances_with_the_same_keys() {
    let keys = |byte| server().sealing_keys([SealingKey::from_bytes([byte; 32])]);
    let mut first = client_of(keys(1), Version::V2026_07_28, able()).await;
    let mut second = client_of(keys(1), Version::V2026_07_28, able()).await;
    let mut foreign = client_of(keys(2), Version::V2026_07_28, able()).await;
    let params = json!({"name": "two_in_sequence", "arguments": {}});
    let asked = first.request("tools/call", params.clone()).await.unwrap();
    let next = first.retry(&params, &asked);
    let failure = foreign.fails("tools/call", next.clone(), -32602).await;
    assert!(failure.message.contains("sealing_keys"), "{failure:?}");
    let asked = second.request("tools/call", next).await.unwrap();
    let next = second.retry(&params, &asked);
    let result = first.request("tools/call", next).await.unwrap();
    assert_eq!(result["content"][0]["text"], "Ada true 1");
}

#[tokio::test]
async fn rounds_continue_in_the_next_process_that_opens_the_file() {
    let folder = Folder::new();
    let process = |store: Sqlite| {
        let server = server().backend(store);
        client_of(server, Version::V2026_07_28, able())
    };
    let mut first = process(folder.open()).await;
    let params = json!({"name": "two_in_sequence", "arguments": {}});
    let asked = first.request("tools/call", params.clone()).await.unwrap();
    let next = first.retry(&params, &asked);
    drop(first);

    let own_key = SqliteOptions::new().sealing_keys(false);
    let mut foreign = process(folder.open_with(own_key)).await;
    let failure = foreign.fails("tools/call", next.clone(), -32602).await;
    assert!(failure.message.contains("sealing_keys"), "{failure:?}");

    let mut second = process(folder.open()).await;
    let asked = second.request("tools/call", next).await.unwrap();
    let next = second.retry(&params, &asked);
    let mut third = process(folder.open()).await;
    let result = third.request("tools/call", next).await.unwrap();
    assert_eq!(result["content"][0]["text"], "Ada true 1");
}

#[tokio::test]
async fn an_elicitation_with_a_new_message_is_sent_again_under_any_key() {
    let (mut client, _) = client(Version::V2026_07_28).await;
    assert_eq!(text(&mut client, "changing").await, "Ada");
    let messages: Vec<_> = client
        .asked
        .iter()
        .map(|asked| &asked.params["message"])
        .collect();
    assert_eq!(messages, ["Attempt 1?", "Attempt 2?", "Attempt 3?"]);
}

// Covers: MRTR-11
#[tokio::test]
async fn a_call_that_asks_for_ever_fails() {
    let limits = Limits::default().with(|limits| limits.elicitation.max_rounds = 3);
    let server = server().limits(limits);
    let mut client = client_of(server, Version::V2026_07_28, able()).await;
    client.answer(|_| Answer::accept(json!({"sure": false})));
    let text = refusal(&mut client, "until_sure").await;
    assert!(text.contains("3 times in a row"), "{text}");
    assert_eq!(client.rounds, 3);
}

#[tokio::test]
async fn a_state_that_exceeds_its_maximum_size_is_an_error() {
    let limits = Limits::default().with(|limits| limits.elicitation.max_state_bytes = 300);
    let server = server().limits(limits);
    let mut client = client_of(server, Version::V2026_07_28, able()).await;
    client.answer(|_| Answer::accept(json!({"sure": false})));
    let text = refusal(&mut client, "until_sure").await;
    assert!(text.contains("the maximum is 300"), "{text}");
}

#[tokio::test]
async fn a_repeated_round_repeats_no_step_with_a_store() {
    for store in [false, true] {
        let setup = Setup {
            store,
            ..Setup::default()
        };
        let ledger = &setup.ledger;
        let server = tests::asking::server(&setup);
        let mut client = client_of(server, Version::V2026_07_28, able()).await;
        let params = json!({"name": "two_in_sequence", "arguments": {}});
        let asked = client.request("tools/call", params.clone()).await.unwrap();
        let second_round = client.retry(&params, &asked);
        for _ in 0..3 {
            let again = second_round.clone();
            let asked = client.request("tools/call", again).await.unwrap();
            let last = client.retry(&params, &asked);
            let result = client.request("tools/call", last.clone()).await.unwrap();
            let receipt = ledger.count("between");
            assert_eq!(result["content"][0]["text"], format!("Ada true {receipt}"));
            client.request("tools/call", last).await.unwrap();
        }
        let done = ["before", "between", "after"].map(|what| ledger.count(what));
        assert_eq!(done, if store { [1, 1, 1] } else { [1, 3, 6] });
    }
}

// Covers: MRTR-14
#[tokio::test]
async fn modern_calls_send_no_server_requests_even_beside_a_session() {
    let (mut client, _) = client(Version::V2025_11_25).await;
    client.speak(Version::V2026_07_28);
    assert_eq!(text(&mut client, "one").await, "Hello, Ada!");
    assert_eq!(client.rounds, 1);
}
