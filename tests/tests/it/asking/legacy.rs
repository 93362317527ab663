//! Questions as requests sent by the server, in the legacy era.

use std::time::Duration;

use mcp_runtime::Limits;
use serde_json::json;
use tests::{Answer, Version};

use super::{able, client, client_of, refusal, server};

// Covers: REQ-05
#[tokio::test]
async fn a_malformed_or_error_response_to_an_elicitation_is_an_error() {
    let (mut client, _) = client(Version::V2025_11_25).await;
    for (answer, expected) in [
        (
            Answer::Result(json!({"action": 5})),
            "the answer is invalid",
        ),
        (Answer::Result(json!([])), "the answer is invalid"),
        (
            Answer::Error(-32601, "what?".into()),
            "the client could not answer: what? (-32601)",
        ),
        (
            Answer::Error(-1, "User rejected".into()),
            "the user declined",
        ),
    ] {
        client.answer(move |_| answer.clone());
        let text = refusal(&mut client, "one").await;
        assert!(text.starts_with(expected), "{text}");
    }
}

// Covers: REQ-02
#[tokio::test]
async fn unexpected_responses_are_ignored() {
    let (mut client, _) = client(Version::V2025_11_25).await;
    client.answer(|_| Answer::Silence);
    let params = json!({"name": "one"});
    let id = client.start("tools/call", params).await;
    client.until_asked(1).await;
    let key = client.asked[0].key.clone();
    for foreign in ["\"1\"", "999", "-1", "null", "1.5"] {
        client
            .line(&format!(
                r#"{{"jsonrpc":"2.0","id":{foreign},"result":{{"action":"decline"}}}}"#
            ))
            .await;
    }
    for name in ["first", "second"] {
        client
            .line(&format!(
                r#"{{"jsonrpc":"2.0","id":{key},"result":{{"action":"accept","content":{{"name":"{name}"}}}}}}"#
            ))
            .await;
    }
    let result = client.response(&id).await.unwrap();
    assert_eq!(result["content"][0]["text"], "Hello, first!");
    client.pass().await;
}

// Covers: REQ-02
#[tokio::test]
async fn concurrent_input_requests_can_be_answered_in_any_order() {
    let (mut client, ledger) = client(Version::V2025_11_25).await;
    client.answer(|_| Answer::Silence);
    let params = json!({"name": "two_at_once"});
    let id = client.start("tools/call", params).await;
    client.until_asked(2).await;
    let answers = [json!({"name": "Ada"}), json!({"sure": true})];
    for (question, content) in client.asked.clone().iter().zip(answers).rev() {
        let id: i64 = question.key.parse().unwrap();
        let result = json!({"action": "accept", "content": content});
        let response = json!({"jsonrpc": "2.0", "id": id, "result": result});
        client.line(&response.to_string()).await;
    }
    let result = client.response(&id).await.unwrap();
    assert_eq!(result["content"][0]["text"], "Ada true 1");
    assert_eq!(ledger.count("after"), 1);
}

// Covers: REQ-05, LIFE-10, CANC-07
#[tokio::test(start_paused = true)]
async fn an_elicitation_without_a_response_times_out_and_is_cancelled() {
    let limits =
        Limits::default().with(|limits| limits.elicitation.timeout = Duration::from_secs(10));
    let server = server().limits(limits);
    let mut client = client_of(server, Version::V2025_11_25, able()).await;
    client.answer(|_| Answer::Silence);
    let started = tokio::time::Instant::now();
    // This is longer than the tool is allowed to take: the time spent by the client does not count.
    assert_eq!(
        refusal(&mut client, "in_a_hurry").await,
        "no answer within 10s"
    );
    assert_eq!(started.elapsed().as_secs(), 10);
    let told = client.notification("notifications/cancelled").await;
    assert_eq!(told["requestId"].to_string(), client.asked[0].key);
}

#[tokio::test(start_paused = true)]
async fn the_timeout_of_a_tool_continues_after_an_elicitation_is_answered() {
    for version in Version::ERAS {
        let (mut client, _) = client(version).await;
        client.answer(|_| Answer::accept(json!({"name": "slow"})));
        let text = refusal(&mut client, "in_a_hurry").await;
        assert!(text.starts_with("took longer than 300ms"), "{text}");
    }
}

// Covers: CANC-06, CANC-07
#[tokio::test]
async fn a_cancelled_call_cancels_its_elicitation() {
    let (mut client, ledger) = client(Version::V2025_11_25).await;
    client.answer(|_| Answer::Silence);
    let id = client
        .start("tools/call", json!({"name": "in_a_hurry"}))
        .await;
    client.until_asked(1).await;
    client.cancel(&id).await;
    ledger.until("dropped", 1).await;
    let told = client.notification("notifications/cancelled").await;
    assert_eq!(told["requestId"].to_string(), client.asked[0].key);
    assert!(!client.answered(&id));
    client.pass().await;
}
