//! One span per request, with OpenTelemetry names; everything that handlers log is inside it.

use std::sync::{Arc, Mutex};

use mcp_runtime::handler::TraceContext;
use serde_json::json;
use tests::Version;
use tests::http::Request;
use tracing::Instrument as _;

use crate::http::support::{call, serve_server, text};
use crate::support::connect;
use crate::telemetry::capture::{Fields, Seen};
use crate::telemetry::server;

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const OTHER: &str = "00-11111111111111111111111111111111-2222222222222222-00";

/// Checks that exactly these fields are present.
fn check(fields: &Fields, expected: &[(&str, &str)]) {
    let fields: Vec<_> = fields.iter().map(|(k, v)| (&**k, &**v)).collect();
    let mut expected = expected.to_vec();
    expected.push(("otel.kind", "server"));
    expected.sort_unstable();
    assert_eq!(fields, expected);
}

#[tokio::test]
async fn each_request_is_one_span_with_the_names_of_opentelemetry() {
    let (seen, _guard) = Seen::begin();
    for version in Version::ERAS {
        let mut client = connect(server(), version).await;
        if !version.is_modern() {
            check(
                &seen.request(),
                &[
                    ("otel.name", "initialize"),
                    ("mcp.method.name", "initialize"),
                    ("mcp.protocol.version", version.date()),
                    ("jsonrpc.request.id", "1"),
                ],
            );
        }
        let mut id = i32::from(!version.is_modern());
        let other = [("otel.name", "_OTHER"), ("mcp.method.name", "_OTHER")];
        let code = |code| [("rpc.response.status_code", code)];
        let failed = |error| [("error.type", error), ("otel.status_code", "ERROR")];
        let tool = |name, full| {
            vec![
                ("otel.name", full),
                ("mcp.method.name", "tools/call"),
                ("gen_ai.operation.name", "execute_tool"),
                ("gen_ai.tool.name", name),
            ]
        };
        for (method, params, expected) in [
            (
                "tools/call",
                json!({"name": "add", "arguments": {"a": 1, "b": 2}}),
                tool("add", "tools/call add"),
            ),
            (
                "tools/call",
                json!({"name": "fail_shown"}),
                [
                    tool("fail_shown", "tools/call fail_shown"),
                    failed("tool_error").to_vec(),
                ]
                .concat(),
            ),
            (
                "tools/call",
                json!({"name": "add", "arguments": {"a": "x"}}),
                [tool("add", "tools/call add"), failed("tool_error").to_vec()].concat(),
            ),
            (
                "tools/call",
                json!({"name": "broken"}),
                [
                    tool("broken", "tools/call broken"),
                    failed("-32603").to_vec(),
                    code("-32603").to_vec(),
                ]
                .concat(),
            ),
            (
                "tools/call",
                json!({"name": "panic_later"}),
                [
                    tool("panic_later", "tools/call panic_later"),
                    failed("-32603").to_vec(),
                    code("-32603").to_vec(),
                ]
                .concat(),
            ),
            (
                "tools/call",
                json!({"name": "overrun"}),
                [
                    tool("overrun", "tools/call overrun"),
                    failed("timeout").to_vec(),
                ]
                .concat(),
            ),
            (
                "tools/call",
                json!({"name": "invented"}),
                vec![
                    ("otel.name", "tools/call"),
                    ("mcp.method.name", "tools/call"),
                    ("rpc.response.status_code", "-32602"),
                ],
            ),
            (
                "prompts/get",
                json!({"name": "greet"}),
                vec![
                    ("otel.name", "prompts/get greet"),
                    ("mcp.method.name", "prompts/get"),
                    ("gen_ai.prompt.name", "greet"),
                ],
            ),
            (
                "resources/read",
                json!({"uri": "item:///3"}),
                vec![
                    ("otel.name", "resources/read"),
                    ("mcp.method.name", "resources/read"),
                    ("mcp.resource.uri", "item:///3"),
                ],
            ),
            (
                "tools/list",
                json!({}),
                vec![
                    ("otel.name", "tools/list"),
                    ("mcp.method.name", "tools/list"),
                ],
            ),
            (
                "resources/list",
                json!({}),
                vec![
                    ("otel.name", "resources/list"),
                    ("mcp.method.name", "resources/list"),
                ],
            ),
            (
                "invented/method",
                json!({}),
                [other.to_vec(), code("-32601").to_vec()].concat(),
            ),
        ] {
            seen.clear();
            id += 1;
            // Both a result and an error are fine here.
            let _ = client.request(method, params).await;
            let id = id.to_string();
            let mut expected = expected;
            expected.push(("jsonrpc.request.id", &id));
            expected.push(("mcp.protocol.version", version.date()));
            check(&seen.request(), &expected);
        }
        seen.clear();
    }
}

#[tokio::test]
async fn handler_events_are_inside_the_request_span() {
    let (seen, _guard) = Seen::begin();
    for version in Version::ERAS {
        let mut client = connect(server(), version).await;
        client.tool("talk", json!({})).await;
        client.tool("talk_now", json!({})).await;
        for message in ["before", "after"] {
            assert_eq!(seen.around(message), ["tools/call talk"]);
        }
        assert_eq!(seen.around("inside"), ["inner", "tools/call talk"]);
        assert_eq!(seen.around("at once"), ["tools/call talk_now"]);
        // The server's own log messages are inside the span, too.
        client.tool("fail_opaque", json!({})).await;
        assert_eq!(seen.around("a handler failed"), ["tools/call fail_opaque"]);
        seen.clear();
    }
}

#[tokio::test]
async fn the_request_span_is_a_child_of_the_span_of_serve() {
    let (seen, _guard) = Seen::begin();
    for version in Version::ERAS {
        let (transport, stream) = mcp_runtime::transport::memory();
        let serving = server().serve(transport);
        tokio::spawn(serving.instrument(tracing::info_span!("caller")));
        let (reader, writer) = tokio::io::split(stream);
        let mut client = tests::Client::new(reader, writer, version).connect().await;
        client.tool("talk", json!({})).await;
        for message in ["before", "after"] {
            assert_eq!(seen.around(message), ["tools/call talk", "caller"]);
        }
        seen.clear();
    }
}

#[tokio::test]
async fn a_cancelled_call_ends_its_span() {
    let (seen, _guard) = Seen::begin();
    for version in Version::ERAS {
        let shared = crate::fixture::Shared::default();
        let mut client = connect(server().state(shared.clone()), version).await;
        seen.clear();
        let id = client.start("tools/call", json!({"name": "wait"})).await;
        shared.started(1).await;
        assert!(!seen.requests()[0].is_closed);
        client.cancel(&id).await;
        shared.dropped(1).await;
        client.pass().await;
        let request = seen.requests().remove(0);
        assert!(request.is_closed);
        assert_eq!(request.fields["error.type"], "cancelled");
        seen.clear();
    }
}

// Covers: META-08
#[tokio::test]
async fn the_parent_span_is_read_from_meta() {
    let (seen, _guard) = Seen::begin();
    for version in Version::ERAS {
        let told = Arc::new(Mutex::new(Vec::new()));
        let server = server().on_span({
            let told = Arc::clone(&told);
            move |span, trace| {
                assert_eq!(span.metadata().unwrap().name(), "mcp.request");
                told.lock().unwrap().push(trace.map(ToString::to_string));
            }
        });
        let mut client = connect(server, version).await;
        for (meta, expected) in [
            (
                json!({"traceparent": PARENT, "tracestate": "a=b"}),
                format!("{PARENT} a=b"),
            ),
            (
                json!({"traceparent": PARENT, "tracestate": "?"}),
                format!("{PARENT} "),
            ),
            (json!({"traceparent": PARENT.to_uppercase()}), "none".into()),
            (json!({"traceparent": 1}), "none".into()),
            (json!({}), "none".into()),
        ] {
            seen.clear();
            told.lock().unwrap().clear();
            let params = json!({"name": "trace", "_meta": meta});
            let result = client.ok("tools/call", params).await;
            assert_eq!(result["content"][0]["text"], expected);
            let is_there = expected != "none";
            assert_eq!(
                told.lock().unwrap().as_slice(),
                [is_there.then(|| PARENT.to_owned())]
            );
            let id = seen.request().remove("trace_id");
            assert_eq!(id.as_deref(), is_there.then(|| &PARENT[3..35]));
        }
    }
    let trace = TraceContext::parse(PARENT, None).unwrap();
    assert_eq!(format!("{:016x}", trace.parent_id()), "00f067aa0ba902b7");
}

#[tokio::test]
async fn a_panic_in_a_span_hook_does_not_affect_requests() {
    let (_seen, _guard) = Seen::begin();
    for version in Version::ERAS {
        let server = server().on_span(|_, _| panic!("in the hook"));
        let mut client = connect(server, version).await;
        assert_eq!(client.text("add", json!({"a": 1, "b": 2})).await, "3");
        client.ok("tools/list", json!({})).await;
    }
}

#[tokio::test]
async fn repeated_tracestate_headers_are_joined_and_traceparents_ignored() {
    let (seen, _guard) = Seen::begin();
    let served = serve_server(server()).await;
    let session = served.session(Version::V2025_11_25).await;
    for version in Version::ERAS {
        for (again, expected) in [
            (("tracestate", "c=d"), format!("{PARENT} a=b,c=d")),
            (("traceparent", OTHER), "none".into()),
        ] {
            seen.clear();
            let request = if version.is_modern() {
                let params = json!({"name": "trace", "arguments": {}, "_meta": {}});
                Request::modern(7, "tools/call", params)
            } else {
                call(&session, 7, "trace", json!({}), version)
            };
            let request = request
                .header("traceparent", PARENT)
                .header("tracestate", "a=b")
                .header(again.0, again.1);
            let (status, answer) = served.message(&request).await;
            assert_eq!((status, text(&answer)), (200, &*expected));
            let is_there = expected != "none";
            assert_eq!(seen.request().contains_key("trace_id"), is_there);
        }
    }
}

#[tokio::test]
async fn the_last_span_hook_replaces_earlier_ones() {
    let (_seen, _guard) = Seen::begin();
    for version in Version::ERAS {
        let told = Arc::new(Mutex::new(Vec::new()));
        let tell = |name| {
            let told = Arc::clone(&told);
            move |_: &tracing::Span, _: Option<&TraceContext>| told.lock().unwrap().push(name)
        };
        let server = server().on_span(tell("first")).on_span(tell("second"));
        let mut client = connect(server, version).await;
        told.lock().unwrap().clear();
        client.tool("talk", json!({})).await;
        assert_eq!(told.lock().unwrap().as_slice(), ["second"]);
    }
}

#[tokio::test]
async fn over_http_the_header_names_the_trace_if_the_message_does_not() {
    let (seen, _guard) = Seen::begin();
    let served = serve_server(server()).await;
    let session = served.session(Version::V2025_11_25).await;
    for with_meta in [true, false] {
        for version in Version::ERAS {
            seen.clear();
            let request = if version.is_modern() {
                let mut params = json!({"name": "trace", "arguments": {}, "_meta": {}});
                if with_meta {
                    params["_meta"]["traceparent"] = json!(OTHER);
                }
                Request::modern(7, "tools/call", params)
            } else {
                let mut request = call(&session, 7, "trace", json!({}), version);
                if with_meta {
                    let mut message: serde_json::Value =
                        serde_json::from_slice(&request.body).unwrap();
                    message["params"]["_meta"]["traceparent"] = json!(OTHER);
                    request.body = message.to_string().into_bytes();
                }
                request
            };
            let request = request
                .header("traceparent", PARENT)
                .header("tracestate", "a=b");
            let (status, answer) = served.message(&request).await;
            let expected = if with_meta {
                format!("{OTHER} ")
            } else {
                format!("{PARENT} a=b")
            };
            assert_eq!((status, text(&answer)), (200, &*expected));

            let mut fields = seen.request();
            assert_eq!(fields.remove("trace_id").unwrap(), expected[3..35]);
            assert_eq!(fields["client.address"], "127.0.0.1");
            fields.remove("client.address");
            fields.remove("client.port").unwrap();
            if let Some(id) = fields.remove("mcp.session.id") {
                assert!(!version.is_modern() && id != session && id.len() == 16);
            } else {
                assert!(version.is_modern());
            }
            check(
                &fields,
                &[
                    ("otel.name", "tools/call trace"),
                    ("mcp.method.name", "tools/call"),
                    ("mcp.protocol.version", version.date()),
                    ("gen_ai.operation.name", "execute_tool"),
                    ("gen_ai.tool.name", "trace"),
                    ("jsonrpc.request.id", "7"),
                    ("network.transport", "tcp"),
                    ("network.protocol.name", "http"),
                ],
            );
        }
    }
    seen.clear();
    served.session(Version::V2025_11_25).await;
    let fields = seen.request();
    assert_eq!(fields["otel.name"], "initialize");
    assert_eq!(fields["mcp.protocol.version"], Version::V2025_11_25.date());
}
