//! Calls to an extension's methods, and its results for core methods.

use mcp_runtime::Limits;
use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use serde_json::{Value, json};
use tests::Version;
use tests::link::Hub;

use super::{GARDEN, Ran, declaring, garden, gardener, gardener_of, server};
use crate::support::connect;

// Covers: EXT-05
#[tokio::test]
async fn a_method_has_typed_parameters_and_results() {
    for version in Version::ALL {
        let mut client = gardener(version).await;
        let watering = json!({"bed": "roses", "litres": 2.5, "newer": [1]});
        let result = client.ok("garden/water", watering).await;
        assert_eq!(
            (&result["bed"], &result["litres"]),
            (&json!("roses"), &json!(2.5))
        );
        assert_eq!(result.get("newer"), None);
        assert_eq!(result.get("resultType").is_some(), version.is_modern());
        for wrong in [
            json!({}),
            json!({"bed": 1}),
            json!({"bed": "a", "litres": "much"}),
        ] {
            let failure = client.fails("garden/water", wrong, -32602).await;
            assert!(
                failure
                    .message
                    .starts_with("the parameters are not valid: "),
                "{failure:?}"
            );
        }
        let failure = client
            .fails("garden/water", json!({"bed": "a", "litres": -1}), -32603)
            .await;
        assert_eq!(failure.message, "water does not flow upwards");
    }
}

/// Returns results of `garden/plan`, some small and some too large to be copied, with the parameters that produce them.
pub(super) fn plans() -> impl Iterator<Item = (Value, usize)> {
    let sizes = [0, 1, 700, 5_000];
    sizes.into_iter().flat_map(|beds| {
        [(false, false), (false, true), (true, false), (true, true)].map(|(notifies, waits)| {
            let params = json!({"beds": beds, "notifies": notifies, "waits": waits});
            (params, beds)
        })
    })
}

/// Checks a result of `garden/plan`.
pub(super) fn check_plan(result: &Value, beds: usize) {
    let expected: Vec<_> = (0..beds).map(|bed| format!("bed {bed}")).collect();
    assert_eq!(result["beds"], json!(expected));
    assert_eq!(result["_meta"]["com.example/a"], 1);
}

#[tokio::test]
async fn a_large_result_arrives_whole() {
    for version in Version::ALL {
        let mut client = gardener(version).await;
        for (params, beds) in plans() {
            check_plan(&client.ok("garden/plan", params).await, beds);
        }
    }
    let mut client = gardener(Version::V2025_03_26).await;
    let request =
        |id, params| json!({"jsonrpc": "2.0", "id": id, "method": "garden/plan", "params": params});
    let quiet = |waits| json!({"beds": 5_000, "waits": waits});
    let batch = json!([request(1, quiet(false)), request(2, quiet(true))]);
    client.send(&batch).await;
    let answers = client.read().await.unwrap();
    assert_eq!(answers.as_array().unwrap().len(), 2);
    for answer in answers.as_array().unwrap() {
        check_plan(&answer["result"], 5_000);
    }
}

#[tokio::test]
async fn a_large_result_is_subject_to_the_limit_of_results() {
    for version in Version::ERAS {
        let limits = Limits::default().with(|limits| limits.calls.max_result_bytes = 50_000);
        let client = declaring(server().limits(limits), version, json!({GARDEN: {}}));
        let mut client = client.await;
        let result = client.ok("garden/plan", json!({"beds": 4_000})).await;
        check_plan(&result, 4_000);
        let failure = client.fails("garden/plan", json!({"beds": 5_000}), -32603);
        assert!(failure.await.message.contains("50000 bytes"));
    }
}

// Covers: EXT-05
#[tokio::test]
async fn an_extension_method_cannot_send_input_requests() {
    // Only three methods of the core protocol may be answered with a question.
    for version in Version::ERAS {
        let mut client = crate::support::raw(server(), version);
        client.capabilities = json!({"extensions": {GARDEN: {}}, "elicitation": {"form": {}}});
        let mut client = client.connect().await;
        client.fails("garden/ask", json!({}), -32603).await;
        assert!(client.asked.is_empty());
    }
}

// Covers: EXT-03
#[tokio::test]
async fn no_visibility_check_runs_for_clients_without_the_extension() {
    for version in Version::ALL {
        let ran = Ran::default();
        let mut client = connect(server().state(ran.clone()), version).await;
        for params in [json!({"bed": "roses"}), json!({}), json!({"bed": [[[1]]]})] {
            let code = if version.is_modern() { -32021 } else { -32601 };
            let failure = client.fails("garden/water", params, code).await;
            if version.is_modern() {
                let required = json!({"requiredCapabilities": {"extensions": {GARDEN: {}}}});
                assert_eq!(failure.data, required);
            }
        }
        assert_eq!(ran.count(), 0);
        // This extension need not be declared by clients, and older versions do not have it.
        if version.is_modern() {
            client.ok("garden/new", json!({})).await;
        } else {
            client.fails("garden/new", json!({}), -32601).await;
        }
        // A declaration does not carry over to the next request.
        client.capabilities = json!({"extensions": {GARDEN: {}}});
        if version.is_modern() {
            client.ok("garden/water", json!({"bed": "roses"})).await;
            assert_eq!(ran.count(), 1);
            client.capabilities = json!({});
            client
                .fails("garden/water", json!({"bed": "roses"}), -32021)
                .await;
        }
    }
}

#[tokio::test]
async fn limits_access_and_middleware_apply_to_methods() {
    for version in Version::ERAS {
        let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let calls = std::sync::Arc::clone(&seen);
        let server = server().middleware(move |call, next| {
            let bed = call.arguments().text("bed").map(str::to_owned);
            calls
                .lock()
                .unwrap()
                .push((call.kind(), call.name().to_owned(), bed));
            async move { next.run(call).await }
        });
        let mut client = declaring(server, version, json!({GARDEN: {}})).await;
        client.ok("garden/water", json!({"bed": "roses"})).await;
        assert_eq!(
            *seen.lock().unwrap(),
            [(
                mcp_runtime::middleware::Kind::ExtensionMethod,
                "garden/water".to_owned(),
                Some("roses".to_owned())
            )]
        );
        // A client in the same process is trusted, so it has every scope.
        client.ok("garden/empty", json!({})).await;
        client.ok("garden/rare", json!({})).await;
        let failure = client.fails("garden/rare", json!({}), 429).await;
        assert!(
            failure
                .message
                .starts_with("too many calls to `garden/rare`"),
            "{failure:?}"
        );
    }
}

#[tokio::test]
async fn a_hidden_method_exists_only_for_the_callers_that_see_it() {
    for version in Version::ERAS {
        let hub = Hub::serve(server());
        let mut owner = gardener_of(&hub, "owner", version).await;
        owner.ok("garden/secret", json!({})).await;
        let mut other = gardener_of(&hub, "other", version).await;
        let hidden = other.fails("garden/secret", json!({}), -32601).await;
        let missing = other.fails("garden/missing", json!({}), -32601).await;
        assert_eq!(hidden.message.replace("secret", "missing"), missing.message);
    }
}

#[tokio::test]
async fn a_result_has_a_declared_type_and_is_an_object() {
    for version in Version::ERAS {
        let mut client = gardener(version).await;
        let result = client.ok("garden/odd", json!({"kind": "partial"})).await;
        assert_eq!(result["kind"], "partial");
        assert_eq!(result["_meta"]["com.example/a"], 1);
        let cached = (
            result.get("ttlMs").cloned(),
            result.get("cacheScope").cloned(),
        );
        if version.is_modern() {
            assert_eq!(result["resultType"], "partial");
            assert_eq!(cached, (Some(json!(1_000)), Some(json!("public"))));
        } else {
            assert_eq!(cached, (None, None));
        }
        for kind in ["task", "list", "typed", "input_required"] {
            client
                .fails("garden/odd", json!({"kind": kind}), -32603)
                .await;
        }
        client.ok("garden/odd", json!({})).await;
    }
}

// Covers: EXT-05
#[tokio::test]
async fn only_a_client_that_declares_the_extension_gets_its_results_from_core_methods() {
    let harvest = json!({"name": "harvest"});
    let mut client = gardener(Version::V2026_07_28).await;
    let plain = client.ok("tools/call", harvest.clone()).await;
    assert_eq!(plain["resultType"], "complete");
    let wishes = json!({GARDEN: {"answer": "estimate"}});
    let mut client = declaring(server(), Version::V2026_07_28, wishes).await;
    let estimate = client.ok("tools/call", harvest.clone()).await;
    assert_eq!(
        (&estimate["resultType"], &estimate["minutes"]),
        (&json!("estimate"), &json!(3))
    );
    assert_eq!(estimate.get("content"), None);
    // The extension does not declare this type.
    for answer in ["task", "complete", "partial"] {
        let wishes = json!({GARDEN: {"answer": answer}});
        let mut client = declaring(server(), Version::V2026_07_28, wishes).await;
        let text = client.refused("harvest", json!({})).await;
        assert!(text.starts_with("internal error (reference "), "{text}");
    }
    // Middleware that does not belong to an extension cannot send such a result at all.
    let server = new_server!()
        .only(Selected::tag("extension"))
        .middleware(async |call, next| {
            drop(next.run(call).await?);
            let result = mcp_runtime::extension::ExtensionResult::new(json!({}))?;
            Ok(mcp_runtime::middleware::CallOutput::Extension(result))
        });
    let mut client = connect(server, Version::V2026_07_28).await;
    client.fails("tools/call", harvest, -32603).await;
}

#[tokio::test]
async fn a_call_can_send_notifications_of_the_extension_before_its_response() {
    for version in Version::ERAS {
        let mut client = gardener(version).await;
        client.ok("garden/water", json!({"bed": "roses"})).await;
        let valve = |message: &&Value| message["method"] == "notifications/garden/valve";
        let seen = client.drain().await;
        let seen: Vec<_> = seen.iter().filter(valve).collect();
        assert_eq!(seen.len(), 1, "{version:?}");
        assert_eq!(seen[0]["params"], json!({"open": true}));
    }
}

#[tokio::test]
async fn a_call_that_can_become_a_job_sends_extension_notifications() {
    for version in Version::ERAS {
        let server = new_server!()
            .only(Selected::tag("extension-task"))
            .with(garden());
        let mut client = declaring(server, version, json!({GARDEN: {}})).await;
        assert_eq!(client.text("open_valve", json!({})).await, "open");
        let seen = client.drain().await;
        let seen = seen
            .iter()
            .filter(|message| message["method"] == "notifications/garden/valve");
        assert_eq!(seen.count(), 1, "{version:?}");
    }
}
