//! Callers' access to calls, prompts and completions, and the errors they get when access is denied.

use mcp_runtime::Principal;
use mcp_runtime::server::Selected;
use mcp_runtime::testing::TestClient;
use serde_json::{Value, json};
use tests::Version;
use tests::link::Hub;

use super::{ADMIN, Identity, READER, STAFF, WRITER, server};

fn call(name: &str) -> Value {
    json!({"name": name, "arguments": {}})
}

// Covers: AUTH-11
#[tokio::test]
async fn a_handler_can_read_the_principal() {
    for version in Version::ALL {
        let hub = Hub::serve(server());
        for (who, subject) in [
            (Identity::Anonymous, "anonymous"),
            (Identity::Owner, "anonymous"),
            (READER, "reader"),
        ] {
            let mut client = who.connect(&hub, version).await;
            assert_eq!(client.text("look", json!({})).await, subject);
        }
        let mut admin = ADMIN.connect(&hub, version).await;
        let signed = admin.text("sign", json!({})).await;
        assert_eq!(signed, "admin: admin notes:read notes:write staff");
        for who in [Identity::Anonymous, Identity::Owner] {
            let mut client = who.connect(&hub, version).await;
            let refused = client.refused("sign", json!({})).await;
            assert!(refused.contains("credentials"), "{refused}");
        }
    }
}

// Covers: AUTH-06, AUTH-07, AUTH-13, RES-11
#[tokio::test]
async fn an_error_about_missing_scopes_lists_all_required_ones() {
    let notes = json!(["notes:read", "notes:write"]);
    let read = json!(["notes:read"]);
    let summary = json!({"type": "ref/prompt", "name": "summary"});
    let note = json!({"type": "ref/resource", "uri": "note:///{id}"});
    let argument = |name: &str| json!({"name": name, "value": ""});
    let requests = [
        ("tools/call", call("write_note"), &notes),
        (
            "tools/call",
            json!({"name": "write_note", "arguments": 5}),
            &notes,
        ),
        (
            "prompts/get",
            json!({"name": "summary", "arguments": {"which": "all"}}),
            &read,
        ),
        ("resources/read", json!({"uri": "identity:notes"}), &read),
        ("resources/read", json!({"uri": "note:///1"}), &read),
        (
            "completion/complete",
            json!({"ref": summary, "argument": argument("which")}),
            &read,
        ),
        (
            "completion/complete",
            json!({"ref": note, "argument": argument("id")}),
            &read,
        ),
    ];
    for version in Version::ALL {
        let hub = Hub::serve(server());
        let mut allowed = Vec::new();
        for who in [WRITER, ADMIN, Identity::Owner] {
            allowed.push(who.connect(&hub, version).await);
        }
        for who in [Identity::Anonymous, STAFF, Identity::Known("none", &[])] {
            let mut client = who.connect(&hub, version).await;
            for (method, params, scopes) in &requests {
                let failure = client.fails(method, params.clone(), 403).await;
                assert_eq!(failure.data, json!({"scopes": scopes}), "{method}");
            }
        }
        for client in &mut allowed {
            for (method, params, _) in &requests {
                if params["arguments"] == 5 {
                    client.fails(method, params.clone(), -32602).await;
                } else {
                    client.ok(method, params.clone()).await;
                }
            }
        }
        // Having some of the required scopes is not enough, and the error names all of them.
        let mut reader = READER.connect(&hub, version).await;
        let failure = reader.fails("tools/call", call("write_note"), 403).await;
        assert_eq!(failure.data, json!({"scopes": notes}));
    }
}

// Covers: AUTH-13, COMP-05, RES-11
#[tokio::test]
async fn a_hidden_definition_gets_the_same_errors_as_an_unknown_one() {
    let rota = |name: &str| {
        let reference = json!({"type": "ref/prompt", "name": name});
        json!({"ref": reference, "argument": {"name": "day", "value": ""}})
    };
    let template = |uri: &str| {
        let reference = json!({"type": "ref/resource", "uri": uri});
        json!({"ref": reference, "argument": {"name": "day", "value": ""}})
    };
    let requests = [
        ("tools/call", call("staff_room"), call("elsewhere_room")),
        ("prompts/get", call("rota"), call("nonsense")),
        (
            "resources/read",
            json!({"uri": "identity:staff"}),
            json!({"uri": "identity:other"}),
        ),
        (
            "resources/read",
            json!({"uri": "rota:///today"}),
            json!({"uri": "other:///today"}),
        ),
        ("completion/complete", rota("rota"), rota("nonsense")),
        (
            "completion/complete",
            template("rota:///{day}"),
            template("other:///{day}"),
        ),
    ];
    for version in Version::ALL {
        let hub = Hub::serve(server());
        for who in [Identity::Anonymous, READER, WRITER] {
            let mut client = who.connect(&hub, version).await;
            for (method, hidden, unknown) in &requests {
                let words = |params: &Value| {
                    let name = params["name"].as_str().or(params["uri"].as_str());
                    let reference = &params["ref"];
                    let name = name.or(reference["name"].as_str());
                    name.or(reference["uri"].as_str()).unwrap().to_owned()
                };
                let of_hidden = client.request(method, hidden.clone()).await.unwrap_err();
                let of_unknown = client.request(method, unknown.clone()).await.unwrap_err();
                assert_eq!(of_hidden.code, of_unknown.code, "{method}");
                let message = of_unknown.message.replace(&words(unknown), &words(hidden));
                assert_eq!(of_hidden.message, message, "{method}");
                assert_eq!(of_hidden.data.is_null(), of_unknown.data.is_null());
            }
        }
        for who in [STAFF, ADMIN, Identity::Owner] {
            let mut client = who.connect(&hub, version).await;
            assert_eq!(client.text("staff_room", json!({})).await, "coffee");
            for (method, hidden, _) in &requests[2..] {
                client.ok(method, hidden.clone()).await;
            }
        }
    }
}

#[tokio::test]
async fn suggestions_name_only_definitions_visible_to_the_caller() {
    let hub = Hub::serve(server());
    for (who, name, suggested) in [
        (READER, "staff_roon", None),
        (STAFF, "staff_roon", Some("staff_room")),
        (READER, "write_notes", None),
        (WRITER, "write_notes", Some("write_note")),
        (READER, "summery", Some("summary")),
        (STAFF, "summery", None),
    ] {
        let mut client = who.connect(&hub, Version::V2026_07_28).await;
        let method = if name == "summery" {
            "prompts/get"
        } else {
            "tools/call"
        };
        let failure = client.fails(method, call(name), -32602).await;
        let expected = match suggested {
            Some(suggested) => failure.message.contains(suggested),
            None => !failure.message.contains("did you mean"),
        };
        assert!(expected, "{who:?}: {failure:?}");
    }
}

#[tokio::test]
async fn a_definition_is_hidden_from_all_if_its_visibility_check_panics() {
    for version in Version::ERAS {
        let hub = Hub::serve(server().only(Selected::tag("riddle")));
        for who in [Identity::Anonymous, Identity::Owner, ADMIN] {
            let mut client = who.connect(&hub, version).await;
            client.fails("tools/call", call("riddle"), -32602).await;
            let (tools, _) = client.list("tools/list", "tools").await;
            assert!(tools.iter().all(|tool| tool["name"] != "riddle"));
        }
    }
}

#[tokio::test]
async fn a_test_client_can_act_as_any_principal() {
    let alice = Principal::new("alice").with_scopes(["notes:read"]);
    let client = TestClient::both(server()).as_principal(alice).await;
    let said = client.call("look", json!({})).await.unwrap();
    assert_eq!(said.text(), "alice");
    let refused = client.call("write_note", json!({})).await.unwrap_err();
    assert_eq!(refused.code, 403);
    let client = TestClient::both(server()).as_anonymous().await;
    assert!(client.prompts().await.is_empty());
    let client = TestClient::both(server()).await;
    assert_eq!(client.prompts().await.len(), 2);
}
