//! Unusable answers: a user may correct a form, but a malformed answer from a program is final.

use serde_json::{Value, json};
use tests::{Answer, Client, Version};

use super::{client, refusal, text, usual};

/// Returns values that answer no question.
fn nonsense() -> [Value; 5] {
    [
        json!([]),
        json!("x"),
        json!(12345),
        json!({"role": 5, "roots": 5, "action": 5}),
        json!({}),
    ]
}

/// Answers one kind of question with this value, and others as usual.
fn answer(client: &mut Client, method: &'static str, with: &Value) {
    let with = with.clone();
    client.answer(move |question| {
        if question.method == method {
            Answer::Result(with.clone())
        } else {
            usual(question)
        }
    });
}

fn times(client: &Client, method: &str) -> usize {
    let asked = client.asked.iter();
    asked.filter(|question| question.method == method).count()
}

// Covers: REQ-05, MRTR-10
#[tokio::test]
async fn a_malformed_sampling_or_roots_answer_is_an_error_at_once() {
    for version in [
        Version::V2024_11_05,
        Version::V2025_03_26,
        Version::V2025_06_18,
        Version::V2025_11_25,
        Version::V2026_07_28,
    ] {
        for method in ["sampling/createMessage", "roots/list"] {
            for with in nonsense() {
                let (mut client, ledger) = client(version).await;
                answer(&mut client, method, &with);
                let text = refusal(&mut client, "no_person").await;
                assert!(text.starts_with("the answer is invalid"), "{text}");
                assert_eq!(times(&client, method), 1, "{version:?} {method} {with}");
                assert_eq!(ledger.count("after"), 0);
            }
        }
    }
}

// Covers: REQ-05, MRTR-10
#[tokio::test]
async fn a_malformed_answer_about_a_url_is_an_error_at_once() {
    for version in Version::ERAS {
        for with in nonsense() {
            let (mut client, _) = client(version).await;
            answer(&mut client, "elicitation/create", &with);
            let params = json!({"name": "somewhere", "arguments": {"url": "https://pay.example"}});
            let result = client.ask("tools/call", params).await.unwrap();
            assert_eq!(result["isError"], true, "{result}");
            assert_eq!(times(&client, "elicitation/create"), 1, "{version:?}");
        }
    }
}

// Covers: ELIC-04
#[tokio::test]
async fn a_malformed_form_answer_is_requested_three_times() {
    for version in [
        Version::V2025_06_18,
        Version::V2025_11_25,
        Version::V2026_07_28,
    ] {
        for with in nonsense() {
            let (mut client, _) = client(version).await;
            answer(&mut client, "elicitation/create", &with);
            let text = refusal(&mut client, "one").await;
            assert!(text.starts_with("the answer is invalid"), "{text}");
            assert_eq!(
                times(&client, "elicitation/create"),
                3,
                "{version:?} {with}"
            );
        }
    }
}

// Covers: ELIC-04
#[tokio::test]
async fn a_declined_elicitation_is_not_repeated_even_with_invalid_content() {
    for version in [
        Version::V2025_06_18,
        Version::V2025_11_25,
        Version::V2026_07_28,
    ] {
        for content in [
            json!([]),
            json!("x"),
            json!(5),
            json!(null),
            json!({"name": [1]}),
        ] {
            for (action, expected) in [("decline", "declined"), ("cancel", "cancelled")] {
                let (mut client, _) = client(version).await;
                let with = json!({"action": action, "content": content});
                answer(&mut client, "elicitation/create", &with);
                assert_eq!(
                    text(&mut client, "outcome").await,
                    expected,
                    "{version:?} {with}"
                );
                assert_eq!(times(&client, "elicitation/create"), 1);
            }
        }
    }
}

// Covers: ELIC-04, REQ-05
#[tokio::test]
async fn an_error_about_an_answer_names_the_field_and_the_problem() {
    for version in Version::ERAS {
        for (method, tool, with, expected) in [
            (
                "elicitation/create",
                "outcome",
                json!({"action": "accept", "content": []}),
                "`content` must be an object of fields",
            ),
            (
                "elicitation/create",
                "outcome",
                json!({"action": "accept", "content": {"name": 5}}),
                "`name` is not a string",
            ),
            (
                "elicitation/create",
                "outcome",
                json!({"action": "accept"}),
                "`name` is missing",
            ),
            (
                "elicitation/create",
                "outcome",
                json!({"action": "yes"}),
                "`action` must be `accept`, `decline` or `cancel`",
            ),
            (
                "sampling/createMessage",
                "no_person",
                json!({"role": 5}),
                "it must have `role`, and `content` blocks of a model",
            ),
            (
                "roots/list",
                "no_person",
                json!({"roots": 5}),
                "`roots` must be a list of objects with a `uri`",
            ),
        ] {
            let (mut client, _) = client(version).await;
            answer(&mut client, method, &with);
            let text = refusal(&mut client, tool).await;
            assert_eq!(
                text,
                format!("the answer is invalid: {expected}"),
                "{version:?} {with}"
            );
        }
    }
}

// Covers: MRTR-16
#[tokio::test]
async fn a_malformed_answer_that_a_handler_accepts_is_replayed_in_each_round() {
    for version in Version::ERAS {
        let (mut client, _) = client(version).await;
        answer(&mut client, "sampling/createMessage", &json!(12345));
        assert_eq!(text(&mut client, "person_instead").await, "Ada");
        assert_eq!(times(&client, "sampling/createMessage"), 1, "{version:?}");
    }
}
