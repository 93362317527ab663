//! A collector receives the traces and metrics of a call.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;

const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"count_words","arguments":{"text":"to be or not"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{},"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}}"#;

/// Starts a collector. Returns its URL, and the path and the body of each request that it gets.
fn collector() -> (String, mpsc::Receiver<(String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, received) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut head = Vec::new();
            loop {
                let mut line = String::new();
                stream.read_line(&mut line).unwrap();
                if line.trim().is_empty() {
                    break;
                }
                head.push(line.to_lowercase());
            }
            let mut lengths = head
                .iter()
                .filter_map(|line| line.strip_prefix("content-length: "));
            let length = lengths.next().unwrap().trim().parse().unwrap();
            let mut body = vec![0; length];
            stream.read_exact(&mut body).unwrap();
            let path = head[0].split(' ').nth(1).unwrap().to_owned();
            sender.send((path, body)).unwrap();
            let response = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            stream.get_mut().write_all(response.as_bytes()).unwrap();
        }
    });
    (url, received)
}

#[test]
fn a_collector_gets_the_spans_and_the_metrics_of_a_call() {
    let (url, received) = collector();
    let mut server = Command::new(env!("CARGO_BIN_EXE_observed"))
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = server.stdin.take().unwrap();
    writeln!(input, "{CALL}").unwrap();
    drop(input); // the server stops, and exports what is left
    let output = server.wait_with_output().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8(output.stdout).unwrap().contains("\"4\""));
    let requests: Vec<_> = received.try_iter().collect();
    let has = |path: &str, part: &[u8]| {
        let has_part = |body: &[u8]| body.windows(part.len()).any(|window| window == part);
        requests
            .iter()
            .any(|(found, body)| found == path && has_part(body))
    };
    assert!(has("/v1/traces", b"tools/call count_words"));
    assert!(has("/v1/traces", b"split"));
    let trace = 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c_u128;
    assert!(
        has("/v1/traces", &trace.to_be_bytes()),
        "the caller's trace"
    );
    assert!(has("/v1/metrics", b"mcp.server.operation.duration"));
    assert!(has("/v1/metrics", b"mcp.server.active_requests"));
}
