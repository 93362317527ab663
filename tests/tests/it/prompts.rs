//! Getting prompts.

use serde_json::json;
use tests::Version;

use crate::support::client;

// Covers: PROMPT-01, PROMPT-02
#[tokio::test]
async fn a_listed_prompt_has_its_arguments() {
    for version in Version::ALL {
        let mut client = client(version).await;
        let (prompts, _) = client.list("prompts/list", "prompts").await;
        let names: Vec<_> = prompts
            .iter()
            .filter_map(|prompt| prompt["name"].as_str())
            .collect();
        assert_eq!(
            names,
            ["greet", "review", "prompt_contents", "prompt_failure"]
        );
        let review = &prompts[1];
        assert_eq!(review["description"], "Asks for a review.");
        assert_eq!(
            review.get("title").is_some(),
            version >= Version::V2025_06_18
        );
        let arguments = review["arguments"].as_array().unwrap();
        assert_eq!(arguments[0]["name"], "code");
        assert_eq!(arguments[0]["description"], "The code");
        assert_eq!(arguments[0]["required"], true);
        assert_ne!(arguments[2]["required"], json!(true));
        assert!(
            arguments
                .iter()
                .all(|argument| argument.get("schema").is_none() && argument.get("icons").is_none())
        );
    }
}

// Covers: PROMPT-02, PROMPT-03, PROMPT-04
#[tokio::test]
async fn prompt_arguments_are_decoded_to_their_types() {
    for version in Version::ALL {
        let mut client = client(version).await;
        let arguments = json!({"code": "12", "language": "red", "strict": "true", "lines": "3", "unknown": "x"});
        let result = client
            .ok(
                "prompts/get",
                json!({"name": "review", "arguments": arguments}),
            )
            .await;
        assert_eq!(
            result["messages"],
            json!([
                {"role": "user", "content": {"type": "text", "text": "12 Red None Some(true) Some(3)"}},
                {"role": "assistant", "content": {"type": "text", "text": "Understood."}},
            ])
        );
        assert!(result.get("ttlMs").is_none() && result.get("cacheScope").is_none());
        assert_eq!(result.get("resultType").is_some(), version.is_modern());
        assert_eq!(result["description"], "Asks for a review.");
        client.ok("prompts/get", json!({"name": "greet"})).await;
    }
}

// Covers: PROMPT-02, PROMPT-03
#[tokio::test]
async fn an_unknown_prompt_or_invalid_argument_is_invalid_params() {
    for version in Version::ALL {
        let mut client = client(version).await;
        for params in [
            json!({"name": "no_such_prompt"}),
            json!({}),
            json!({"name": 1}),
            json!({"name": "review", "arguments": {"code": "x"}}),
            json!({"name": "review", "arguments": {"code": "x", "language": "yellow"}}),
            json!({"name": "review", "arguments": {"code": "x", "language": "red", "lines": "many"}}),
            json!({"name": "review", "arguments": []}),
            json!({"name": "review", "arguments": {"code": {}, "language": "red"}}),
        ] {
            client.fails("prompts/get", params, -32602).await;
        }
    }
}

// Covers: PROMPT-03
#[tokio::test]
async fn a_failing_prompt_is_an_error_with_its_text() {
    for version in Version::ALL {
        let mut client = client(version).await;
        let failure = client
            .fails("prompts/get", json!({"name": "prompt_failure"}), -32603)
            .await;
        assert!(
            failure.message.contains("no such thing"),
            "{}",
            failure.message
        );
    }
}
