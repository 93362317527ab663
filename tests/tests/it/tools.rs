//! Calling tools: results, failures, and invalid arguments.

use serde_json::{Value, json};
use tests::Version;

use crate::support::client;

#[tokio::test]
async fn a_misspelt_field_inside_of_an_argument_is_named() {
    let mut client = client(Version::V2026_07_28).await;
    for (due, text) in [
        (json!({"day": 1, "hour": 2}), "1 Some(2)"),
        (
            json!({"day": 1, "huor": 2}),
            "/due: unknown property `huor`; did you mean `hour`? (known: `day`, `hour`)",
        ),
    ] {
        let result = client.tool("due", json!({"due": due})).await;
        assert_eq!(result["content"][0]["text"], text);
    }
}

#[tokio::test]
async fn numbers_in_quotes_are_understood_inside_of_arguments() {
    let mut client = client(Version::V2026_07_28).await;
    let result = client
        .tool("due", json!({"due": {"day": "1", "hour": "2"}}))
        .await;
    assert_eq!(result["content"][0]["text"], "1 Some(2)");
}

#[tokio::test]
async fn an_unknown_name_comes_with_a_suggestion() {
    for version in Version::ALL {
        let mut client = client(version).await;
        for (method, name, message) in [
            ("tools/call", "ecoh", "no tool `ecoh`; did you mean `echo`?"),
            ("tools/call", "zzzzzz", "no tool `zzzzzz`"),
            (
                "prompts/get",
                "gret",
                "no prompt `gret`; did you mean `greet`?",
            ),
        ] {
            let error = client.fails(method, json!({"name": name}), -32602).await;
            assert_eq!(error.message, message);
        }
    }
}

// Covers: TOOL-09, BASE-02, BASE-03, BASE-08
#[tokio::test]
async fn a_call_is_answered_under_its_id() {
    for version in Version::ALL {
        let mut client = client(version).await;
        for id in [
            json!(0),
            json!(-7),
            json!(i64::MAX),
            json!("1"),
            json!(""),
            json!("é\"\\"),
        ] {
            let params =
                client.dress(json!({"name": "add", "arguments": {"a": 1, "b": 2}, "unknown": [1]}));
            client.send(&json!({"jsonrpc":"2.0","id":id,"method":"tools/call","params":params,"more":1})).await;
            let result = client.response(&id).await.unwrap();
            assert_eq!(result["content"], json!([{"type": "text", "text": "3"}]));
        }
    }
}

// Covers: TOOL-12, BASE-08
#[tokio::test]
async fn content_is_there_even_if_empty_and_arguments_may_be_absent() {
    for version in Version::ALL {
        let mut client = client(version).await;
        let result = client.ok("tools/call", json!({"name": "nothing"})).await;
        assert!(result["content"].is_array());
        assert_ne!(result["isError"], json!(true));
    }
}

// Covers: TOOL-09
#[tokio::test]
async fn an_unknown_tool_or_a_call_of_another_shape_is_invalid_params() {
    for version in Version::ALL {
        let mut client = client(version).await;
        for params in [
            json!({"name": "no_such_tool"}),
            json!({"name": "Add", "arguments": {}}),
            json!({"name": ""}),
            json!({"arguments": {}}),
            json!({}),
            json!({"name": 1}),
            json!({"name": null}),
            json!({"name": "add", "arguments": []}),
            json!({"name": "add", "arguments": "{}"}),
            json!({"name": "add", "arguments": 7}),
        ] {
            client.fails("tools/call", params, -32602).await;
        }
        client.pass().await;
    }
}

// Covers: TOOL-10
#[tokio::test]
async fn every_bad_argument_is_explained_to_the_model_at_once() {
    for version in Version::ALL {
        let mut client = client(version).await;
        let text = client
            .refused(
                "arguments",
                json!({"name": "", "limit": 300, "colour": "gren", "tags": [1], "nmae": 2}),
            )
            .await;
        for part in ["/name", "/limit", "/colour", "green", "/tags/0", "nmae"] {
            assert!(text.contains(part), "{part} is not in: {text}");
        }
        let text = client
            .refused("arguments", json!({"name": "n", "limti": 2}))
            .await;
        assert!(text.contains("did you mean `limit`"), "{text}");
        let text = client.refused("add", json!({})).await;
        assert!(text.contains('a') && text.contains('b'), "{text}");
        assert_eq!(
            client
                .text(
                    "arguments",
                    json!({"name": "n", "limit": "7", "tags": "[\"t\"]"})
                )
                .await,
            "n 7 None Some([\"t\"])",
            "values that arrive as strings are read"
        );
        assert_eq!(
            client.text("arguments", json!({"name": "n"})).await,
            "n 10 None None"
        );
        assert_eq!(client.text("add", json!({"a": 1.0, "b": 2})).await, "3");
    }
}

// Covers: TOOL-11, SEC-04
#[tokio::test]
async fn handler_errors_hide_details_unless_exposed() {
    for version in Version::ALL {
        let mut client = client(version).await;
        assert_eq!(
            client.refused("fail_shown", json!({})).await,
            "choose another day"
        );
        for (name, day) in [("fail_by_type", 31), ("fail_as_type", 32)] {
            let text = client.refused(name, json!({})).await;
            assert_eq!(text, format!("there is no day {day}"));
        }
        let failure = client
            .fails("resources/read", json!({"uri": "test://no-day"}), -32603)
            .await;
        assert_eq!(failure.message, "there is no day 33");
        let text = client.refused("fail_opaque", json!({})).await;
        assert!(!text.contains("secret"), "{text}");
        let failure = client
            .fails("tools/call", json!({"name": "fail_protocol"}), 4711)
            .await;
        assert_eq!(failure.message, "application error");
    }
}

// Covers: TOOL-11, SEC-04
#[tokio::test]
async fn a_panic_answers_its_request_and_nothing_else() {
    for version in Version::ALL {
        let mut client = client(version).await;
        for name in ["panic_now", "panic_later"] {
            let failure = client
                .fails("tools/call", json!({"name": name}), -32603)
                .await;
            assert!(!failure.message.contains("secret"), "{}", failure.message);
        }
        assert_eq!(client.text("add", json!({"a": 1, "b": 2})).await, "3");
    }
}

// Covers: TOOL-13, TOOL-14, TOOL-15
#[tokio::test]
async fn structured_output_matches_its_schema_and_is_also_sent_as_text() {
    for version in Version::ALL {
        let mut client = client(version).await;
        let (tools, _) = client.list("tools/list", "tools").await;
        for (name, value, always_object) in [
            ("structured", json!({"x": 1, "y": 2, "label": null}), true),
            ("structured_list", json!([1, 2, 3]), false),
            (
                "structured_perhaps",
                json!({"x": 1, "y": 2, "label": null}),
                false,
            ),
            ("structured_perhaps_not", json!(null), false),
            (
                "structured_tree",
                json!({"children": [{"children": []}]}),
                true,
            ),
            ("structured_trees", json!([{"children": []}]), false),
            (
                "structured_tagged",
                json!({"kind": "Circle", "radius": 2.0}),
                true,
            ),
        ] {
            let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
            let result = client.tool(name, json!({})).await;
            let text: Value =
                serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
            assert_eq!(text, value);
            let date = version.date();
            let there = version >= Version::V2025_06_18;
            assert_eq!(
                tool.get("outputSchema").is_some(),
                there,
                "{name} in {date}"
            );
            let expected = if version.is_modern() || always_object {
                value
            } else {
                json!({"result": value})
            };
            let structured = result.get("structuredContent");
            assert_eq!(structured, there.then_some(&expected), "{name} in {date}");
            if let Some(structured) = structured {
                let validator = jsonschema::validator_for(&tool["outputSchema"]).unwrap();
                assert!(validator.is_valid(structured), "{name} in {date}");
            }
        }
    }
}

// Covers: TOOL-20, TOOL-16
#[tokio::test]
async fn bytes_are_base64_with_padding() {
    let mut client = client(Version::V2026_07_28).await;
    let result = client.tool("contents", json!({})).await;
    assert_eq!(
        result["content"][1],
        json!({"type": "image", "data": "AAEC", "mimeType": "image/png"})
    );
    assert_eq!(
        result["content"][2],
        json!({"type": "audio", "data": "AAEC", "mimeType": "audio/wav"})
    );
    assert_eq!(result["content"][3]["type"], "resource_link");
    assert_eq!(result["content"][4]["resource"]["text"], "embedded");
    let result = client
        .ok("resources/read", json!({"uri": "test://binary"}))
        .await;
    assert_eq!(result["contents"][0]["blob"], "AP8B");
}

// Covers: TOOL-04, TOOL-05, TOOL-07, JSCH-01, JSCH-04
#[tokio::test]
async fn a_listed_tool_has_its_schema_description_and_annotations() {
    let mut client = client(Version::V2026_07_28).await;
    let (tools, _) = client.list("tools/list", "tools").await;
    for tool in &tools {
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        assert!(
            tool["description"]
                .as_str()
                .is_some_and(|text| !text.is_empty()),
            "{tool}"
        );
        jsonschema::validator_for(&tool["inputSchema"]).unwrap();
    }
    let tool = tools
        .iter()
        .find(|tool| tool["name"] == "arguments")
        .unwrap();
    assert_eq!(
        tool["inputSchema"],
        json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "minLength": 1, "maxLength": 10},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10},
                "colour": {"type": "string", "enum": ["red", "green", "blue"]},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["name"],
            "additionalProperties": false,
        })
    );
    let tool = tools.iter().find(|tool| tool["name"] == "add").unwrap();
    assert_eq!(tool["title"], "Add");
    assert_eq!(tool["annotations"]["readOnlyHint"], true);
    assert_eq!(
        tool["inputSchema"]["properties"]["a"]["description"],
        "Left operand"
    );
}

// Covers: META-05
#[tokio::test]
async fn a_missing_client_capability_is_an_error_that_names_it() {
    let mut modern = client(Version::V2026_07_28).await;
    let failure = modern
        .fails("tools/call", json!({"name": "needs_sampling"}), -32021)
        .await;
    assert_eq!(
        failure.data["requiredCapabilities"],
        json!({"sampling": {}})
    );
    modern.capabilities = json!({"sampling": {}});
    assert_eq!(modern.text("needs_sampling", json!({})).await, "sampled");
    for version in Version::LEGACY {
        client(version)
            .await
            .refused("needs_sampling", json!({}))
            .await;
    }
}

// Covers: TOOL-11
#[tokio::test]
async fn a_tool_that_takes_too_long_is_stopped_with_a_message_for_the_model() {
    for version in Version::ERAS {
        let mut client = client(version).await;
        client.refused("overrun", json!({})).await;
        client.pass().await;
    }
}

// Covers: STDIO-03
#[tokio::test]
async fn a_blocking_tool_keeps_no_other_call_waiting() {
    for version in Version::ERAS {
        let mut client = client(version).await;
        let slow = client
            .start(
                "tools/call",
                json!({"name": "block", "arguments": {"ms": 500}}),
            )
            .await;
        client.text("add", json!({"a": 1, "b": 2})).await;
        assert!(!client.answered(&slow));
        client.response(&slow).await.unwrap();
    }
}
