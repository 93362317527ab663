//! Completing arguments.

use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use mcp_runtime::testing::TestClient;
use serde_json::{Value, json};
use tests::{Client, Version};

use crate::fixture;
use crate::support::client;

async fn complete(client: &mut Client, argument: &str, value: &str, context: Value) -> Value {
    let params = json!({
        "ref": {"type": "ref/prompt", "name": "review"},
        "argument": {"name": argument, "value": value},
        "context": {"arguments": context},
    });
    client.ok("completion/complete", params).await["completion"].clone()
}

// Covers: COMP-02, COMP-03
#[tokio::test]
async fn enums_and_bools_complete_by_themselves() {
    for version in Version::ALL {
        let mut client = client(version).await;
        assert_eq!(
            complete(&mut client, "language", "gr", json!({})).await["values"][0],
            "green"
        );
        let all = complete(&mut client, "language", "", json!({})).await;
        assert_eq!(all["values"].as_array().unwrap().len(), 3);
        assert_eq!(
            complete(&mut client, "strict", "t", json!({})).await["values"][0],
            "true"
        );
    }
}

// Covers: COMP-02, COMP-03
#[tokio::test]
async fn a_completer_sees_earlier_arguments_and_is_ranked_and_capped() {
    for version in Version::ALL {
        let mut client = client(version).await;
        let found = complete(&mut client, "framework", "ro", json!({"language": "red"})).await;
        assert_eq!(found["values"][0], "rocket", "{found}");
        let many = complete(&mut client, "framework", "framework", json!({})).await;
        assert_eq!(many["values"].as_array().unwrap().len(), 100);
        assert_eq!(many["hasMore"], true);
        assert_eq!(many["total"], 250);
        // There is no context.
        let params = json!({
            "ref": {"type": "ref/resource", "uri": "item:///{id}"},
            "argument": {"name": "id", "value": "7"},
        });
        let found = client.ok("completion/complete", params).await;
        assert_eq!(found["completion"]["values"], json!(["7"]));
    }
}

// Covers: COMP-04, COMP-05
#[tokio::test]
async fn arguments_without_completion_are_empty_or_invalid_params() {
    for version in Version::ALL {
        let mut client = client(version).await;
        assert_eq!(
            complete(&mut client, "code", "x", json!({})).await["values"],
            json!([])
        );
        let prompt = json!({"type": "ref/prompt", "name": "review"});
        for params in [
            json!({"ref": {"type": "ref/prompt", "name": "none"}, "argument": {"name": "code", "value": ""}}),
            json!({"ref": prompt, "argument": {"name": "none", "value": ""}}),
            json!({"ref": {"type": "ref/resource", "uri": "none:///{x}"}, "argument": {"name": "x", "value": ""}}),
            json!({"ref": {"type": "ref/other"}, "argument": {"name": "x", "value": ""}}),
            json!({"ref": prompt}),
            json!({"argument": {"name": "x", "value": ""}}),
            json!({"ref": prompt, "argument": {"name": "code", "value": 1}}),
            json!({"ref": "review", "argument": {"name": "code", "value": ""}}),
            json!({}),
        ] {
            client.fails("completion/complete", params, -32602).await;
        }
    }
}

// Covers: COMP-05
#[tokio::test(start_paused = true)]
async fn a_completion_in_an_array_is_charged_once() {
    // A burst may contain two seconds' worth of requests.
    let limits =
        mcp_runtime::Limits::default().with(|limits| limits.calls.max_completions_per_second = 5);
    let mut client = crate::support::limited(Version::V2025_03_26, limits).await;
    let params = json!({
        "ref": {"type": "ref/prompt", "name": "review"},
        "argument": {"name": "framework", "value": ""},
    });
    let complete = |id: u32| json!({"jsonrpc": "2.0", "id": id, "method": "completion/complete", "params": params});
    let batch: Vec<_> = (100..110).map(complete).collect();
    client.send(&Value::Array(batch)).await;
    for id in 100..110 {
        let result = client.response(&json!(id)).await.unwrap();
        assert_eq!(result["completion"]["total"], 250, "{id}");
    }
    // The limit is now used up, whether or not requests come in an array.
    client
        .fails("completion/complete", params.clone(), 429)
        .await;
    client.send(&json!([complete(110)])).await;
    assert_eq!(client.response(&json!(110)).await.unwrap_err().code, 429);
}

// Covers: COMP-02
#[tokio::test]
async fn the_client_for_tests_completes_variables_and_calls_methods_by_name() {
    let client = TestClient::both(fixture::server()).await;
    let completion = client.complete_template("item:///{id}", "id", "", json!({}));
    assert_eq!(completion.await.unwrap().values.len(), 10);
    let templates = client.request("resources/templates/list", json!({})).await;
    let templates = templates.unwrap()["resourceTemplates"].take();
    assert_eq!(templates[0]["uriTemplate"], "item:///{id}");
    let failure = client.request("tools/call", json!({"name": "none"})).await;
    assert_eq!(failure.unwrap_err().code, -32602);
}

/// Names the project, if the prompt has one.
#[completer]
fn shared_ids(_partial: &str, project: Option<String>) -> Vec<String> {
    let project = project.as_deref().unwrap_or("none");
    vec![format!("{project}-1")]
}

#[prompt(tags("shared_completer"))]
fn with_project(project: String, #[complete(shared_ids)] ticket: String) -> String {
    project + &ticket
}

#[prompt(tags("shared_completer"))]
fn without_project(#[complete(shared_ids)] ticket: String) -> String {
    ticket
}

// Covers: COMP-02
#[tokio::test]
async fn prompts_share_a_completer_whose_optional_argument_they_may_lack() {
    for version in Version::ERAS {
        let server =
            mcp_runtime::Server::new("shared", "1").only(Selected::tag("shared_completer"));
        let mut client = crate::support::connect(server, version).await;
        for (prompt, arguments, expected) in [
            ("with_project", json!({"project": "web"}), "web-1"),
            ("with_project", json!({}), "none-1"),
            ("without_project", json!({}), "none-1"),
        ] {
            let params = json!({
                "ref": {"type": "ref/prompt", "name": prompt},
                "argument": {"name": "ticket", "value": ""},
                "context": {"arguments": arguments},
            });
            let found = client.ok("completion/complete", params).await;
            assert_eq!(found["completion"]["values"], json!([expected]), "{prompt}");
        }
    }
}
