//! The limits on questions, each below, at and above its value.

use std::time::Duration;

use mcp_runtime::Limits;
use serde_json::json;
use tests::{Answer, Version};

use super::{able, call, client_of, server};

// Limits: elicitation.max_open
#[tokio::test]
async fn the_number_of_open_input_requests_is_limited() {
    for version in Version::ERAS {
        for (questions, fits) in [(2, false), (3, true), (4, true)] {
            let limits = Limits::default().with(|limits| limits.elicitation.max_open = questions);
            let mut client = client_of(server().limits(limits), version, able()).await;
            let result = call(&mut client, "three_kinds").await;
            assert_eq!(result["isError"] != true, fits, "{questions}: {result}");
        }
    }
}

// Limits: elicitation.timeout
#[tokio::test(start_paused = true)]
async fn the_time_to_answer_an_elicitation_is_limited() {
    let limits = Limits::default();
    let most = limits.elicitation.timeout;
    let moment = Duration::from_millis(20);
    let server = || server().limits(limits.clone());
    for (after, heard) in [(most.saturating_sub(moment), true), (most + moment, false)] {
        let mut client = client_of(server(), Version::V2025_11_25, able()).await;
        client.answer(|_| Answer::Silence);
        let id = client.start("tools/call", json!({"name": "one"})).await;
        client.until_asked(1).await;
        let key = client.asked[0].key.clone();
        tokio::time::sleep(after).await;
        let answer = r#"{"action":"accept","content":{"name":"Ada"}}"#;
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{key},"result":{answer}}}"#);
        client.line(&answer).await;
        let result = client.response(&id).await.unwrap();
        assert_eq!(result["isError"] != true, heard, "{after:?}: {result}");
    }
}

// Limits: elicitation.max_rounds
#[tokio::test]
async fn the_number_of_rounds_of_a_call_is_limited() {
    for (rounds, fits) in [(2, false), (3, true), (4, true)] {
        let limits = Limits::default().with(|limits| limits.elicitation.max_rounds = rounds);
        let mut client = client_of(server().limits(limits), Version::V2026_07_28, able()).await;
        let mut asked = 0;
        client.answer(move |_| {
            asked += 1;
            Answer::accept(json!({"sure": asked == 3}))
        });
        let result = call(&mut client, "until_sure").await;
        assert_eq!(result["isError"] != true, fits, "{rounds}: {result}");
    }
}

// Limits: elicitation.max_state_bytes
#[tokio::test]
async fn the_length_of_a_request_state_is_limited() {
    let params = json!({"name": "one", "arguments": {}});
    let state_of = async |limits: Limits| {
        let mut client = client_of(server().limits(limits), Version::V2026_07_28, able()).await;
        let result = client.request("tools/call", params.clone()).await.unwrap();
        result["requestState"].as_str().map(str::len)
    };
    let length = state_of(Limits::default()).await.expect("it asks");
    // Random numbers in the state vary in length.
    for (request_state, fits) in [(length - 10, false), (length + 10, true)] {
        let limits =
            Limits::default().with(|limits| limits.elicitation.max_state_bytes = request_state);
        let state = state_of(limits).await;
        assert_eq!(state.is_some(), fits, "{request_state}: {state:?}");
    }
}

// Limits: elicitation.state_timeout
#[tokio::test]
async fn the_time_between_two_rounds_is_limited() {
    let limits =
        Limits::default().with(|limits| limits.elicitation.state_timeout = Duration::from_secs(1));
    let mut client = client_of(server().limits(limits), Version::V2026_07_28, able()).await;
    let params = json!({"name": "one", "arguments": {}});
    let asked = client.request("tools/call", params.clone()).await.unwrap();
    let next = client.retry(&params, &asked);
    client.ok("tools/call", next.clone()).await;
    // The state contains the system time in whole seconds, so it may remain valid for up to one second more.
    tests::wait::until(async || client.request("tools/call", next.clone()).await.is_err()).await;
    client.fails("tools/call", next, -32602).await;
}
