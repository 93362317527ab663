//! A client's capabilities are checked before it is asked, wherever a handler asks.

use serde_json::{Value, json};
use tests::{Answer, Version};

use super::{able, client, client_of, server, text};

/// Returns the same question from each place that may ask.
fn places(kind: &str) -> [(&'static str, Value); 3] {
    let arguments = json!({ "kind": kind });
    [
        (
            "tools/call",
            json!({"name": "kind", "arguments": arguments}),
        ),
        (
            "prompts/get",
            json!({"name": "kind_prompt", "arguments": arguments}),
        ),
        ("resources/read", json!({"uri": format!("kind://{kind}")})),
    ]
}

const KINDS: [&str; 5] = ["form", "url", "sampling", "tools", "roots"];

/// Returns the capability that a client that declares these lacks for a kind of question, in versions with all kinds.
fn lacks(declared: &Value, kind: &str) -> Option<Value> {
    let has = |path: &str| declared.pointer(path).is_some();
    let forms = has("/elicitation") && (has("/elicitation/form") || !has("/elicitation/url"));
    Some(match kind {
        "form" if forms => return None,
        "form" if has("/elicitation") => json!({"elicitation": {"form": {}}}),
        "form" => json!({"elicitation": {}}),
        "url" if has("/elicitation/url") => return None,
        "url" => json!({"elicitation": {"url": {}}}),
        "sampling" if has("/sampling") => return None,
        "sampling" => json!({"sampling": {}}),
        "tools" if has("/sampling/tools") => return None,
        "tools" => json!({"sampling": {"tools": {}}}),
        _ if has("/roots") => return None,
        _ => json!({"roots": {}}),
    })
}

// Covers: REQ-01, REQ-06, MRTR-04, ELIC-01, SAMP-02, ROOT-01
#[tokio::test]
async fn undeclared_input_requests_are_not_sent_from_any_handler() {
    for version in Version::ERAS {
        for declared in [
            json!({}),
            json!({"elicitation": {}}),
            json!({"elicitation": {"form": {}}}),
            json!({"elicitation": {"url": {}}}),
            json!({"elicitation": {"form": {}, "url": {}}}),
            json!({"sampling": {}}),
            json!({"sampling": {"context": {}}}),
            json!({"sampling": {"tools": {}}}),
            json!({"roots": {}}),
        ] {
            let mut client = client_of(server(), version, declared.clone()).await;
            for (kind, (method, params)) in KINDS.iter().flat_map(|k| places(k).map(|p| (k, p))) {
                let asked = client.asked.len();
                let result = client.ask(method, params).await;
                let what = format!("{kind} from {method} of {declared} in {}", version.date());
                let Some(lacking) = lacks(&declared, kind) else {
                    let result = result.unwrap_or_else(|failure| panic!("{what}: {failure:?}"));
                    assert!(result.to_string().contains("answered"), "{what}: {result}");
                    continue;
                };
                assert_eq!(client.asked.len(), asked, "{what}");
                let (area, members) = lacking.as_object().unwrap().iter().next().unwrap();
                let member = members.as_object().unwrap().keys().next();
                let name = member.map_or(area.clone(), |member| format!("{area}.{member}"));
                let text = format!("the client does not declare required capabilities: {name}");
                match result {
                    Ok(result) => {
                        assert!(!version.is_modern() && method == "tools/call", "{what}");
                        assert_eq!(result["isError"], true, "{what}");
                        assert_eq!(result["content"][0]["text"], text, "{what}");
                    }
                    Err(failure) => {
                        let code = if version.is_modern() { -32021 } else { -32603 };
                        assert_eq!((failure.code, failure.message), (code, text), "{what}");
                        let required = &failure.data["requiredCapabilities"];
                        let expected = if version.is_modern() {
                            &lacking
                        } else {
                            &Value::Null
                        };
                        assert_eq!(required, expected, "{what}");
                    }
                }
            }
        }
    }
}

// Covers: REQ-01, REQ-06, ELIC-01, SAMP-02
#[tokio::test]
async fn requests_that_a_version_lacks_are_not_sent_even_if_declared() {
    use Version::{V2024_11_05, V2025_03_26, V2025_06_18};
    for (version, asked) in [
        (V2024_11_05, &["sampling", "roots"][..]),
        (V2025_03_26, &["sampling", "roots"]),
        // This version had no modes: a client that declares elicitation supports forms.
        (V2025_06_18, &["form", "sampling", "roots"]),
    ] {
        let mut client = client_of(server(), version, able()).await;
        for kind in KINDS {
            for (method, params) in places(kind) {
                let before = client.asked.len();
                let result = client.ask(method, params).await;
                let is_fine = result.is_ok_and(|result| result["isError"] != true);
                assert_eq!(
                    is_fine,
                    asked.contains(&kind),
                    "{kind} in {}",
                    version.date()
                );
                assert_eq!(client.asked.len() > before, is_fine);
            }
        }
    }
}

// Covers: MRTR-04
#[tokio::test]
async fn no_input_request_is_sent_if_one_of_several_is_unsupported() {
    for version in Version::ERAS {
        let declared = json!({"elicitation": {}, "roots": {}});
        let mut client = client_of(server(), version, declared).await;
        let params = json!({"name": "three_kinds", "arguments": {}});
        let result = client.request("tools/call", params).await;
        let text = match result {
            Ok(result) => result["content"][0]["text"].as_str().unwrap().to_owned(),
            Err(failure) => failure.message,
        };
        assert!(text.ends_with(": sampling"), "{text}");
        client.pass().await;
        assert_eq!(client.asked, []);
    }
}

// Covers: MRTR-04
#[tokio::test]
async fn a_handler_can_check_which_input_requests_the_client_supports() {
    for version in Version::ERAS {
        for (capabilities, expected) in [
            (json!({}), "false"),
            (json!({"sampling": {}}), "Paris false"),
            (able(), "Ada Paris 1 true"),
        ] {
            let mut client = client_of(server(), version, capabilities).await;
            assert_eq!(text(&mut client, "what_can_be").await, expected);
        }
    }
}

// Covers: SAMP-01, SAMP-02
#[tokio::test]
async fn sampling_includes_context_if_the_client_supports_it() {
    use Version::{V2024_11_05, V2025_06_18, V2025_11_25, V2026_07_28};
    for (version, sampling, is_included) in [
        (V2024_11_05, json!({}), true),
        (V2025_06_18, json!({}), true),
        (V2025_11_25, json!({"tools": {}}), false),
        (V2025_11_25, json!({"context": {}}), true),
        (V2026_07_28, json!({"tools": {}}), false),
        (V2026_07_28, json!({"context": {}}), true),
    ] {
        let mut client = client_of(server(), version, json!({ "sampling": sampling })).await;
        assert_eq!(text(&mut client, "with_context").await, "Paris");
        let expected = is_included.then(|| json!("thisServer"));
        let params = &client.asked[0].params;
        assert_eq!(params.get("includeContext"), expected.as_ref());
    }
}

// Covers: SAMP-01, SAMP-03, SAMP-05
#[tokio::test]
async fn sampling_requests_have_all_members_and_accept_all_valid_results() {
    for version in Version::ALL {
        let block = json!({"type": "text", "text": "Here"});
        let mut contents = vec![block.clone()];
        if version >= Version::V2025_11_25 {
            contents.push(json!([block.clone(), block]));
        }
        for content in contents {
            for (reason, heard) in [
                (json!("endTurn"), "Some(\"endTurn\")"),
                (json!("stopSequence"), "Some(\"stopSequence\")"),
                (json!("maxTokens"), "Some(\"maxTokens\")"),
                (json!("com.example/tired"), "Some(\"com.example/tired\")"),
                (Value::Null, "None"),
            ] {
                let (mut client, _) = client(version).await;
                let mut said =
                    json!({"role": "assistant", "content": content, "model": "m-1", "more": [1]});
                if !reason.is_null() {
                    said["stopReason"] = reason;
                }
                client.answer(move |_| Answer::Result(said.clone()));
                let text = text(&mut client, "in_full").await;
                assert!(text.starts_with(&format!("m-1 {heard} Here")), "{text}");
                let asked = &client.asked[0].params;
                for (member, expected) in [
                    ("maxTokens", json!(17)),
                    ("systemPrompt", json!("Be brief.")),
                    ("temperature", json!(0.25)),
                    ("stopSequences", json!(["END"])),
                    (
                        "modelPreferences",
                        json!({"hints": [{"name": "small"}], "costPriority": 1.0, "speedPriority": 0.5, "intelligencePriority": 0.0}),
                    ),
                ] {
                    assert_eq!(asked[member], expected, "{member} in {version:?}");
                }
                let messages = asked["messages"].as_array().unwrap();
                let roles: Vec<_> = messages.iter().map(|message| &message["role"]).collect();
                assert_eq!(roles, ["user", "assistant", "user"]);
                // A single block, never a list of one, is the form that every protocol version understands.
                assert!(
                    messages
                        .iter()
                        .all(|message| message["content"]["type"] == "text")
                );
                assert!(asked.get("tools").is_none() && asked.get("toolChoice").is_none());
            }
        }
    }
}

// Covers: SAMP-03, SAMP-04, SAMP-07
#[tokio::test]
async fn sampling_with_tools_continues_turn_by_turn() {
    for version in Version::ERAS {
        let (mut client, _) = client(version).await;
        client.answer(|question| {
            if question.params["messages"].as_array().unwrap().len() == 1 {
                let content = json!([{"type": "tool_use", "id": "u1", "name": "t", "input": {}}]);
                let said = json!({"role": "assistant", "content": content, "model": "m", "stopReason": "toolUse"});
                return Answer::Result(said);
            }
            let messages = &question.params["messages"];
            assert_eq!(messages[1]["role"], "assistant");
            assert!(messages[1].to_string().contains("\"tool_use\""), "{messages}");
            // The message that contains the result contains nothing else.
            let result = &messages[2];
            assert_eq!((&result["role"], &result["content"]["type"]), (&json!("user"), &json!("tool_result")));
            assert_eq!(result["content"]["toolUseId"], "u1");
            Answer::said("seven")
        });
        assert_eq!(text(&mut client, "two_turns").await, "seven");
    }
}
