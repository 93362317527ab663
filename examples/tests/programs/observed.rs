//! The examples that show operators' tools: metrics for Prometheus, and traces with OpenTelemetry.

use std::process::Stdio;

use serde_json::json;
use tests::http::{Request, send};
use tests::run::free_address;
use tests::wait::in_time;
use tests::{Client, Process, Version, binary};
use tokio::io::{AsyncBufReadExt, BufReader};

use super::retry;

#[tokio::test]
async fn prometheus_reads_the_metrics_of_a_server() {
    let address = free_address();
    let _process = Process::raw("metrics", &[&*address.to_string()], Version::V2026_07_28);
    retry(async || tokio::net::TcpStream::connect(address).await).await;
    for (name, b) in [("add", 2), ("divide", 2), ("divide", 0), ("invented", 1)] {
        let call = Request::tool(name, json!({"a": 1, "b": b}));
        send(address, &call).await.message().await;
    }
    let forbidden = Request::tool("add", json!({})).header("Origin", "https://evil.example");
    assert_eq!(send(address, &forbidden).await.status, 403);

    let scrape = Request::new("GET", Version::V2026_07_28).to("/metrics");
    let text = send(address, &scrape).await.text().await;
    let labels = |name: &str| format!(r#"mcp_method_name="tools/call",gen_ai_tool_name="{name}""#);
    for line in [
        "# TYPE mcp_server_requests counter".to_owned(),
        // The recorder was installed when the server began to serve, after the metrics were described.
        "# HELP mcp_server_requests Finished requests".to_owned(),
        "# HELP mcp_server_refusals Refused messages, connections and calls".to_owned(),
        format!(r#"mcp_server_requests{{{},outcome="ok"}} 1"#, labels("add")),
        format!(
            r#"mcp_server_requests{{{},outcome="tool_error"}} 1"#,
            labels("divide")
        ),
        r#"mcp_server_requests{mcp_method_name="tools/call",outcome="error"} 1"#.to_owned(),
        r#"mcp_server_refusals{kind="origin"} 1"#.to_owned(),
        "mcp_server_active_requests 0".to_owned(),
        "# TYPE mcp_server_operation_duration histogram".to_owned(),
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    let count = text.lines().filter(|line| {
        line.starts_with("mcp_server_operation_duration_count{") && line.contains(&labels("add"))
    });
    let counts: Vec<_> = count.collect();
    assert!(matches!(*counts, [line] if line.ends_with(" 1")), "{text}");
    assert!(!text.contains("invented"), "{text}");
}

#[tokio::test]
async fn opentelemetry_sees_spans_as_part_of_the_traces_of_their_callers() {
    for version in Version::ERAS {
        let mut child = tokio::process::Command::new(binary("traces"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let (output, input) = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
        let mut client = Client::new(output, input, version).connect().await;
        let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let params = json!({
            "name": "add", "arguments": {"a": 1, "b": 2}, "_meta": {"traceparent": parent}
        });
        client.ok("tools/call", params).await;
        client.close().await;
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut spans = Vec::new();
        while let Some(line) = in_time(lines.next_line()).await.unwrap() {
            spans.push(line);
        }
        // The inner span ends first.
        let inner = spans.iter().find(|line| line.starts_with("think "));
        let inner = inner.unwrap_or_else(|| panic!("{spans:#?}"));
        let request = spans
            .iter()
            .find(|line| line.starts_with("tools/call add "));
        let request = request.unwrap_or_else(|| panic!("{spans:#?}"));
        assert!(
            request.contains("trace=4bf92f3577b34da6a3ce929d0e0e4736")
                && request.contains("parent=00f067aa0ba902b7")
                && request.ends_with("kind=Server status=Unset"),
            "{request}"
        );
        let id = request
            .split("span=")
            .nth(1)
            .and_then(|rest| rest.split(' ').next());
        assert!(
            inner.contains("trace=4bf92f3577b34da6a3ce929d0e0e4736")
                && inner.contains(&format!("parent={}", id.unwrap())),
            "{inner}"
        );
    }
}
