//! For any bytes, JSON or messages, in both eras: no panic, no hang, and the next message is still served.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use serde_json::value::RawValue;
use serde_json::{Value, json};
#[cfg(target_os = "linux")]
use tests::Process;
use tests::Version;

use crate::support::client;

/// The number of cases for each property.
const CASES: u32 = 1_000;

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((key(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "jsonrpc",
            "id",
            "method",
            "params",
            "result",
            "error",
            "name",
            "arguments",
            "uri",
            "cursor",
            "_meta",
            "ref",
            "argument",
            "value",
            "type",
            "level",
            "requestId",
            "notifications",
            "progressToken",
            "protocolVersion",
            "capabilities",
            "clientInfo",
            "io.modelcontextprotocol/protocolVersion",
            "io.modelcontextprotocol/clientCapabilities",
            "io.modelcontextprotocol/logLevel",
        ])
        .prop_map(str::to_owned),
        ".{0,8}",
    ]
}

fn method() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "initialize",
            "ping",
            "server/discover",
            "tools/list",
            "tools/call",
            "prompts/list",
            "prompts/get",
            "resources/list",
            "resources/templates/list",
            "resources/read",
            "resources/subscribe",
            "resources/unsubscribe",
            "completion/complete",
            "logging/setLevel",
            "notifications/initialized",
            "notifications/cancelled",
            "notifications/progress",
            "tasks/get",
        ])
        .prop_map(str::to_owned),
        "[a-z/]{0,20}",
    ]
}

fn params() -> impl Strategy<Value = Value> {
    let name = prop::sample::select(vec![
        "add",
        "echo",
        "arguments",
        "greet",
        "review",
        "structured",
        "contents",
        "none",
    ]);
    let uri = prop::sample::select(vec![
        "test://static",
        "item:///3",
        "item:///x",
        "tree:///../a",
        "tree:///%zz",
        "",
    ]);
    prop_oneof![
        any_json(),
        (name, uri, any_json()).prop_map(|(name, uri, arguments)| json!({
            "name": name, "uri": uri, "arguments": arguments, "level": "info", "requestId": arguments,
            "ref": {"type": "ref/prompt", "name": name}, "argument": {"name": "code", "value": uri},
        })),
        (any::<i64>(), any::<i64>()).prop_map(|(a, b)| json!({"name": "add", "arguments": {"a": a, "b": b}})),
        (0_u32..1_000).prop_map(|bytes| json!({"name": "fill", "arguments": {"bytes": bytes}})),
    ]
}

fn message() -> impl Strategy<Value = Value> {
    let id = prop_oneof![
        any::<i64>().prop_map(Value::from),
        "[a-z]{0,5}".prop_map(Value::from)
    ];
    (
        prop::option::of(id),
        method(),
        prop::option::of(params()),
        any::<bool>(),
    )
        .prop_map(|(id, method, params, claim)| {
            let mut message = json!({"jsonrpc": "2.0", "method": method});
            if let Some(id) = id {
                message["id"] = id;
            }
            if let Some(params) = params {
                message["params"] = params;
            }
            if claim && message["params"].is_object() {
                message["params"]["_meta"] = json!({
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientCapabilities": {},
                });
            }
            message
        })
}

/// Parses JSON. A number that `serde_json` cannot hold, such as `1e999`, which the server accepts where it needs no value, is
/// null.
fn lenient(json: &str) -> Option<Value> {
    if let Ok(value) = serde_json::from_str(json) {
        return Some(value);
    }
    if let Ok(members) = serde_json::from_str::<BTreeMap<String, &RawValue>>(json) {
        let members = members.into_iter();
        let members = members.map(|(name, json)| Some((name, lenient(json.get())?)));
        return Some(Value::Object(members.collect::<Option<_>>()?));
    }
    if let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(json) {
        return items.into_iter().map(|json| lenient(json.get())).collect();
    }
    serde_json::from_str::<&RawValue>(json)
        .ok()
        .map(|_| Value::Null)
}

/// Sends every case on one connection per era, then sends a request and reads up to its answer.
fn survives(strategy: impl Strategy<Value = Vec<u8>>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    for version in Version::ERAS {
        let client = runtime.block_on(client(version));
        let client = std::cell::RefCell::new((client, 0_u32));
        let mut runner = TestRunner::new(Config {
            cases: CASES,
            failure_persistence: None,
            ..Config::default()
        });
        runner
            .run(&strategy, |mut line| {
                line.retain(|byte| *byte != b'\n');
                let (client, count) = &mut *client.borrow_mut();
                *count += 1;
                let id = json!(format!("after-{count}"));
                runtime.block_on(async {
                    line.push(b'\n');
                    if let Some(message) = std::str::from_utf8(&line).ok().and_then(lenient) {
                        client.remember(&message);
                    }
                    client.bytes(&line).await;
                    let method = if version.is_modern() {
                        "server/discover"
                    } else {
                        "ping"
                    };
                    let params = client.dress(json!({}));
                    let next =
                        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
                    client.remember(&next);
                    client.line(&next.to_string()).await;
                    let mut lines = 0;
                    loop {
                        let answer = client.read().await.expect("the server is still there");
                        lines += 1;
                        assert!(lines < 200, "one message has {lines} answers");
                        if answer["id"] == id {
                            assert!(answer.get("result").is_some(), "{answer}");
                            break;
                        }
                    }
                });
                Ok(())
            })
            .unwrap();
    }
}

// Covers: STDIO-06, SEC-05
#[test]
fn a_server_survives_arbitrary_bytes() {
    survives(prop::collection::vec(any::<u8>(), 0..200));
}

// Covers: STDIO-06, SEC-05, BASE-08
#[test]
fn a_server_survives_arbitrary_json() {
    survives(any_json().prop_map(|value| value.to_string().into_bytes()));
}

// Covers: STDIO-06, SEC-05, BASE-08
#[test]
fn a_server_survives_arbitrary_messages() {
    survives(message().prop_map(|message| message.to_string().into_bytes()));
}

// Covers: BASE-08
#[test]
fn a_server_survives_a_message_with_a_number_of_any_size() {
    let message =
        r#"{"jsonrpc":"2.0","id":"k","method":"prompts/list","params":{"a":[{"b":1e999}]}}"#;
    survives(Just(message.as_bytes().to_vec()));
}

// Covers: STDIO-06, SEC-05
#[test]
fn a_server_survives_damaged_messages() {
    let damaged = (message(), any::<prop::sample::Index>(), any::<u8>()).prop_map(
        |(message, index, byte)| {
            let mut bytes = message.to_string().into_bytes();
            let index = index.index(bytes.len());
            bytes[index] = byte;
            bytes
        },
    );
    survives(damaged);
}

/// Returns the memory usage of a process, in KiB.
#[cfg(target_os = "linux")]
fn resident(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.unwrap().parse().unwrap()
}

// Covers: SEC-05
#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_the_number_of_messages() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let lines = prop_oneof![
        any_json().prop_map(|value| value.to_string().into_bytes()),
        message().prop_map(|message| message.to_string().into_bytes()),
        prop::collection::vec(any::<u8>(), 0..200),
    ];
    let mut runner = TestRunner::deterministic();
    for version in Version::ERAS {
        runtime.block_on(async {
            let mut process = Process::start("subject", &[], version).await;
            let id = process.child.id().unwrap();
            let mut sizes = Vec::new();
            for round in 0..5 {
                for _ in 0..3_000 {
                    let mut line = lines.new_tree(&mut runner).unwrap().current();
                    line.retain(|byte| *byte != b'\n');
                    line.push(b'\n');
                    process.client.bytes(&line).await;
                }
                let last = format!("round-{round}");
                let method = if version.is_modern() {
                    "server/discover"
                } else {
                    "ping"
                };
                let params = process.client.dress(json!({}));
                let request =
                    json!({"jsonrpc": "2.0", "id": last, "method": method, "params": params});
                process.client.line(&request.to_string()).await;
                while !process.client.read_line().await.unwrap().contains(&last) {}
                sizes.push(resident(id));
            }
            // The first round is a warm-up; four more rounds add less than 2 MiB in total.
            assert!(sizes[4] < sizes[0] + 2_048, "{version:?}: {sizes:?} KiB");
        });
    }
}
