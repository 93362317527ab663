//! Members that occur twice, and members that are `null`.

use mcp_runtime::prelude::*;
use tests::Version;

use super::{call, dynamic, send, server};
use crate::support::connect;

#[tokio::test]
async fn a_duplicate_argument_of_any_tool_or_prompt_is_refused() {
    for version in Version::ALL {
        let mut client = connect(dynamic(), version).await;
        for (tool, arguments, name) in [
            ("weather", r#"{"city":"Oslo","city":"Bergen"}"#, "city"),
            ("weather", r#"{"city":"Oslo","cit\u0079":"Bergen"}"#, "city"),
            ("integer", r#"{"n":1,"n":1}"#, "n"),
            ("written", r#"{"n":1,"n":1}"#, "n"),
        ] {
            let refusal = call(&mut client, tool, arguments).await;
            let words = format!("argument `{name}` is given twice");
            assert_eq!(refusal, Err(words), "{tool} {arguments}");
        }
        for prompt in ["hello", "greet"] {
            for arguments in [
                r#"{"name":"a","name":"b"}"#,
                r#"{"name":null,"name":"b"}"#,
                r#"{"name":"a","name":null}"#,
            ] {
                let params = json!({"name": prompt});
                let refusal = send(&mut client, "prompts/get", params, "arguments", arguments);
                let refusal = refusal.await.expect_err(arguments);
                assert_eq!(refusal.code, -32602, "{prompt} {arguments}");
                let words = "argument `name` is given twice";
                assert!(refusal.message.contains(words), "{}", refusal.message);
            }
        }
    }
}

#[tokio::test]
async fn null_is_the_same_as_an_optional_argument_that_is_left_out_of_a_prompt() {
    for version in Version::ALL {
        let mut client = connect(dynamic(), version).await;
        for (prompt, expected) in [("hello", "Some(\"a\") None"), ("greet", "a None")] {
            let arguments = json!({"name": "a", "style": null});
            let params = json!({"name": prompt, "arguments": arguments});
            let result = client.ok("prompts/get", params).await;
            assert_eq!(result["messages"][0]["content"]["text"], expected);
            let params = json!({"name": prompt, "arguments": {"name": null}});
            client.fails("prompts/get", params, -32602).await;
        }
    }
}

#[tokio::test]
async fn a_duplicate_key_in_input_responses_is_refused() {
    let mut client = connect(server(), Version::V2026_07_28).await;
    for (answers, well) in [
        (r#"{"who":{"action":"decline"}}"#, true),
        (
            r#"{"who":{"action":"decline"},"who":{"action":"cancel"}}"#,
            false,
        ),
        (
            r#"{"who":{"action":"decline"},"wh\u006f":{"action":"cancel"}}"#,
            false,
        ),
    ] {
        let params = json!({"name": "integer", "arguments": {"n": 1}});
        let answer = send(&mut client, "tools/call", params, "inputResponses", answers).await;
        assert_eq!(
            answer.map_err(|failure| failure.code).err(),
            (!well).then_some(-32602),
            "{answers}"
        );
    }
}

#[tokio::test]
async fn null_is_the_same_as_an_optional_member_that_is_left_out() {
    for version in Version::ALL {
        let mut client = connect(dynamic(), version).await;
        for method in ["tools/list", "prompts/list"] {
            let left_out = client.ok(method, json!({})).await;
            assert_eq!(client.ok(method, json!({"cursor": null})).await, left_out);
        }
        let result = client
            .ok("tools/call", json!({"name": "weather", "arguments": null}))
            .await;
        assert_eq!(result["content"][0]["text"], "nowhere");
        let missing = client
            .fails("prompts/get", json!({"name": "greet"}), -32602)
            .await;
        let null = json!({"name": "greet", "arguments": null});
        let null = client.fails("prompts/get", null, -32602).await;
        assert_eq!(null.message, missing.message);
        if version.is_modern() {
            let params = json!({
                "name": "weather", "arguments": {}, "inputResponses": null, "requestState": null
            });
            client.ok("tools/call", params).await;
            let filter = json!({"toolsListChanged": null, "resourceSubscriptions": null});
            let params = json!({"notifications": filter});
            let id = client.start("subscriptions/listen", params).await;
            let told = client.notification("notifications/subscriptions/acknowledged");
            assert_eq!(told.await["notifications"], json!({}));
            client.cancel(&id).await;
        } else {
            let params = json!({"name": "weather", "_meta": null});
            client.ok("tools/call", params).await;
            client.ok("ping", json!({"_meta": null})).await;
        }
        // A required member that is null still counts as missing, and a wrong type is still refused.
        for (method, params) in [
            ("tools/call", json!({"name": null})),
            ("prompts/get", json!({"name": null})),
            ("tools/list", json!({"cursor": 1})),
            ("tools/call", json!({"name": "weather", "arguments": []})),
        ] {
            client.fails(method, params, -32602).await;
        }
    }
}
