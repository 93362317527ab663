use serde_json::{Value, json};

use super::dialogue::{Dialogue, OutgoingLine};

fn request(id: u64, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

fn response(id: &Value, result: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()
}

/// Returns the messages that are written to the host or to the server.
fn written(out: &[OutgoingLine], host: bool) -> Vec<Value> {
    let lines = out.iter().filter_map(|out| match out {
        OutgoingLine::Host(line) if host => Some(line),
        OutgoingLine::Server(line) if !host => Some(line),
        _ => None,
    });
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Opens a connection for a host in the legacy era.
fn opened() -> Dialogue {
    let mut dialogue = Dialogue::default();
    assert_eq!(dialogue.started(1), []);
    let initialize = request(0, "initialize", &json!({"protocolVersion": "2025-11-25"}));
    assert_eq!(
        dialogue.host(&initialize),
        [OutgoingLine::Server(initialize.clone())]
    );
    let result = json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}});
    let told = dialogue.server(&response(&json!(0), &result));
    let told = written(&told, true);
    assert_eq!(
        told[0]["result"]["capabilities"],
        json!({"tools": {"listChanged": true}})
    );
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    dialogue.host(&initialized.to_string());
    dialogue
}

#[test]
fn a_restarted_server_receives_the_handshake_and_log_level_again() {
    let mut dialogue = opened();
    let level = request(1, "logging/setLevel", &json!({"level": "debug"}));
    dialogue.host(&level);
    dialogue.server(&response(&json!(1), &json!({})));
    dialogue.host(&request(2, "tools/call", &json!({"name": "slow"})));
    let ended = written(&dialogue.ended("it was built again"), true);
    assert_eq!((&ended[0]["id"], ended.len()), (&json!(2), 1));
    assert_eq!(ended[0]["error"]["message"], "it was built again");

    let started = written(&dialogue.started(2), false);
    assert_eq!(started[0]["method"], "initialize");
    assert_eq!(started[0]["params"]["protocolVersion"], "2025-11-25");
    // Meanwhile, the host sends a request, which has to wait.
    assert_eq!(dialogue.host(&request(3, "tools/list", &json!({}))), []);
    let ready = dialogue.server(&response(&started[0]["id"], &json!({"capabilities": {}})));
    let server = written(&ready, false);
    let methods: Vec<_> = server
        .iter()
        .map(|one| one["method"].as_str().unwrap())
        .collect();
    assert_eq!(
        methods,
        [
            "notifications/initialized",
            "logging/setLevel",
            "tools/list"
        ]
    );
    let host = written(&ready, true);
    assert_eq!(host[0]["method"], "notifications/tools/list_changed");
    assert_eq!(host.len(), 1);
    // A response to a request that the host did not send is not passed to it.
    assert_eq!(dialogue.server(&response(&server[1]["id"], &json!({}))), []);
    let list = response(&json!(3), &json!({"tools": []}));
    assert_eq!(dialogue.server(&list), [OutgoingLine::Host(list.clone())]);
}

#[test]
fn requests_of_a_server_before_and_after_a_restart_have_different_ids() {
    let mut dialogue = opened();
    let ask = request(7, "roots/list", &json!({}));
    let first = written(&dialogue.server(&ask), true);
    let ended = written(&dialogue.ended("it died"), true);
    assert_eq!(ended[0]["method"], "notifications/cancelled");
    assert_eq!(ended[0]["params"]["requestId"], first[0]["id"]);
    let opening = written(&dialogue.started(2), false);
    dialogue.server(&response(&opening[0]["id"], &json!({})));
    let second = written(&dialogue.server(&ask), true);
    assert_ne!(first[0]["id"], second[0]["id"]);
    assert_eq!(
        dialogue.host(&response(&first[0]["id"], &json!({"roots": []}))),
        []
    );
    let answered = dialogue.host(&response(&second[0]["id"], &json!({"roots": []})));
    assert_eq!(written(&answered, false)[0]["id"], 7);
}

#[test]
fn modern_subscriptions_are_renewed_after_a_restart() {
    let mut dialogue = Dialogue::default();
    dialogue.started(1);
    let filter = json!({"notifications": {"toolsListChanged": true}});
    let listen = request(5, "subscriptions/listen", &filter);
    dialogue.host(&listen);
    assert_eq!(dialogue.ended("it was built again"), []);
    let again = dialogue.started(2);
    assert_eq!(again[0], OutgoingLine::Server(listen));
    let told = written(&again, true);
    assert_eq!(told[0]["method"], "notifications/tools/list_changed");
    assert_eq!(
        told[0]["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
        5
    );
}

#[test]
fn without_a_server_requests_fail_and_initialize_waits() {
    let mut dialogue = Dialogue::default();
    let initialize = request(0, "initialize", &json!({}));
    assert_eq!(dialogue.host(&initialize), []);
    let list = request(1, "tools/list", &json!({}));
    assert_eq!(dialogue.host(&list), []);
    let failed = written(&dialogue.cannot_start("mismatched types"), true);
    assert_eq!((&failed[0]["id"], failed.len()), (&json!(1), 1));
    let refused = written(&dialogue.host(&list), true);
    let reason = refused[0]["error"]["message"].as_str().unwrap();
    assert!(reason.contains("mismatched types"), "{reason}");
    assert_eq!(dialogue.started(1), [OutgoingLine::Server(initialize)]);
    // A server that ends repeatedly is not restarted for the request that ended it.
    dialogue.ended("exit status: 1");
    assert!(!dialogue.needs_server());
    dialogue.host(&list);
    assert!(dialogue.needs_server());
}

#[test]
fn a_server_that_refuses_the_host_leaves_no_request_without_a_response() {
    let mut dialogue = opened();
    dialogue.ended("it was built again");
    let opening = written(&dialogue.started(2), false);
    let list = request(3, "tools/list", &json!({}));
    assert_eq!(dialogue.host(&list), []);
    let refusal = json!({"jsonrpc": "2.0", "id": opening[0]["id"], "error": {"code": -32602, "message": "no"}});
    let refused = written(&dialogue.server(&refusal.to_string()), true);
    assert_eq!((&refused[0]["id"], refused.len()), (&json!(3), 1));
    let later = written(&dialogue.host(&list), true);
    let reason = later[0]["error"]["message"].as_str().unwrap();
    assert!(reason.contains("refuses the host"), "{reason}");
    // The next build receives the request again.
    assert_eq!(
        written(&dialogue.started(3), false)[0]["method"],
        "initialize"
    );
}

#[test]
fn cancelled_requests_do_not_count_towards_the_maximum() {
    let mut dialogue = opened();
    for id in 1..=10_001 {
        let call = request(id, "tools/call", &json!({"name": "slow"}));
        assert_eq!(
            dialogue.host(&call),
            [OutgoingLine::Server(call.clone())],
            "{id}"
        );
        let params = json!({"requestId": id});
        let cancelled =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
        dialogue.host(&cancelled.to_string());
    }
    // The newest request may still be answered.
    let late = response(&json!(10_001), &json!({}));
    assert_eq!(dialogue.server(&late), [OutgoingLine::Host(late.clone())]);
}
