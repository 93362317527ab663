//! Requests that two readers could interpret differently, as an attacker would send them through a proxy.
//!
//! Most cases are one request that tries to be two. The second is a call that would be answered, so a server that is
//! fooled gives two answers.

use serde_json::json;
use tests::Version;
use tests::client::PATIENCE;
use tests::http::{Request, connect};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::http::support::{Served, serve};

const MESSAGE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nothing","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;

/// Returns a call with this body and with these fields in addition to those that every call has.
fn post(fields: &str, body: &str) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: nothing\r\n{fields}\r\n{body}"
    )
}

/// Returns a valid call that also has these fields.
fn call(fields: &str) -> String {
    post(
        &format!("{fields}Content-Length: {}\r\n", MESSAGE.len()),
        MESSAGE,
    )
}

/// Returns a call whose body is a single chunk.
fn chunked(fields: &str) -> String {
    let body = format!("{:x}\r\n{MESSAGE}\r\n0\r\n\r\n", MESSAGE.len());
    post(&format!("{fields}Transfer-Encoding: chunked\r\n"), &body)
}

/// Sends exactly these bytes; returns the statuses of all answers.
async fn statuses(server: &Served, bytes: &str) -> Vec<u16> {
    let mut stream = connect(server.address).await;
    // A server that refuses the head may close the connection before the rest has arrived.
    let _ = stream.write_all(bytes.as_bytes()).await;
    let _ = stream.shutdown().await;
    let mut answers = Vec::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answers)).await;
    // A reset also counts as an end.
    let _ = read.expect("the connection ends in time");
    let text = String::from_utf8(answers).unwrap();
    text.split("HTTP/1.1 ")
        .skip(1)
        .map(|answer| answer[..3].parse().unwrap())
        .collect()
}

/// Sends each request followed by a valid call, and compares the statuses of all answers.
async fn check(cases: impl IntoIterator<Item = (String, &[u16])>) {
    let server = serve().await;
    for (request, expected) in cases {
        let got = statuses(&server, &(request.clone() + &call(""))).await;
        assert_eq!(got, expected, "{request:?}");
    }
}

// Covers: SEC-03
#[tokio::test]
async fn a_body_with_an_ambiguous_length_is_refused() {
    let (one, two) = (MESSAGE.len(), MESSAGE.len() + call("").len());
    check([
        // Nothing is wrong here: two requests are two requests.
        (call(""), &[200, 200][..]),
        (chunked(""), &[200, 200]),
        // If both kinds of length are given, the chunks count, and nothing after them is read.
        (chunked(&format!("Content-Length: {two}\r\n")), &[200]),
        (
            chunked("").replace(
                "chunked\r\n",
                &format!("chunked\r\nContent-Length: {two}\r\n"),
            ),
            &[200],
        ),
        (call("Transfer-Encoding: chunked\r\n"), &[400]),
        // Two lengths, and lengths that only some readers would accept.
        (call(&format!("Content-Length: {two}\r\n")), &[400]),
        (
            post(&format!("Content-Length: {one}, {one}\r\n"), MESSAGE),
            &[400],
        ),
        (
            post(&format!("Content-Length: +{one}\r\n"), MESSAGE),
            &[400],
        ),
        (post("Content-Length: -1\r\n", MESSAGE), &[400]),
        (post("Content-Length: 0xbc\r\n", MESSAGE), &[400]),
        (post("Content-Length:\r\n", MESSAGE), &[400]),
        (
            post("Content-Length: 99999999999999999999\r\n", MESSAGE),
            &[400],
        ),
        // Codings that only some readers would take for chunked.
        (call("Transfer-Encoding: identity\r\n"), &[400]),
        (call("Transfer-Encoding: xchunked\r\n"), &[400]),
        (call("Transfer-Encoding: \x0bchunked\r\n"), &[400]),
        (call("Transfer-Encoding:\r\n chunked\r\n"), &[400]),
        (call("Transfer-Encoding : chunked\r\n"), &[400]),
        (call("Transfer-Encoding\t: chunked\r\n"), &[400]),
        (
            chunked("").replace("chunked\r\n", "chunked, identity\r\n"),
            &[400],
        ),
        (
            chunked("").replace("chunked\r\n", "chunked\r\nTransfer-Encoding: identity\r\n"),
            &[400],
        ),
        (chunked("").replace("HTTP/1.1", "HTTP/1.0"), &[400]),
        // Compressed bodies are refused, and their length is unambiguous.
        (
            chunked("").replace("chunked\r\n", "gzip, chunked\r\n"),
            &[501, 200],
        ),
    ])
    .await;
}

// Covers: SEC-03
#[tokio::test]
async fn a_body_with_a_wrong_chunk_length_is_refused() {
    let size = format!("{:x}", MESSAGE.len());
    let with = |from: &str, to: &str| {
        let request = chunked("");
        assert!(request.contains(from));
        request.replacen(from, to, 1)
    };
    let line = format!("\r\n{size}\r\n");
    let end = "\r\n0\r\n\r\n";
    check([
        // An extension is skipped, and nothing after the last chunk is treated as a header field.
        (
            with(&line, &format!("\r\n{size};a=\"b\"\r\n")),
            &[200, 200][..],
        ),
        (
            with(
                end,
                "\r\n0\r\nHost: evil.example.com\r\nContent-Length: 9\r\n\r\n",
            ),
            &[200, 200],
        ),
        (with(&line, &format!("\r\n{size};a\nb\r\n")), &[400]),
        (
            with(&line, &format!("\r\n{size};{}\r\n", "a".repeat(100_000))),
            &[400],
        ),
        (with(&line, &format!("\r\n{size}\n")), &[400]),
        (with(&line, &format!("\r\n0x{size}\r\n")), &[400]),
        (with(&line, &format!("\r\n+{size}\r\n")), &[400]),
        (with(&line, "\r\n-1\r\n"), &[400]),
        (with(&line, "\r\n\r\n"), &[400]),
        (with(&line, "\r\n10000000000000000\r\n"), &[400]),
        (with(end, "0\r\n\r\n"), &[400]),
    ])
    .await;
}

// Covers: SEC-03, HDR-08
#[tokio::test]
async fn ambiguous_header_syntax_is_refused() {
    check([
        (call("X: a\r\n folded\r\n"), &[400][..]),
        (call("Mcp-Session-Id: a\r\n\tfolded\r\n"), &[400]),
        (call("X: a\rY: b\r\n"), &[400]),
        (call("Mcp-Param-X: a\rb\r\n"), &[400]),
        (call("Mcp-Param-X: a\0b\r\n"), &[400]),
        (call("Mcp\0X: a\r\n"), &[400]),
        (call("Last-Event-ID: 1:1\r\r\n"), &[400]),
        (call(": a\r\n"), &[400]),
        (call("nonsense\r\n"), &[400]),
        (call("").replacen("\r\n", "\r\n ", 1), &[400]),
        (call("").replacen(' ', "  ", 1), &[400]),
        (call("").replacen("HTTP/1.1", "HTTP/1.2", 1), &[400]),
        // A line feed alone ends a line everywhere, so the rest is another field: here, one that occurs twice.
        (call("Mcp-Param-X: a\nMcp-Name: other\r\n"), &[400, 200]),
        (call("X: a\nY: b\r\n"), &[200, 200]),
        // The server never switches to a protocol that others could read differently.
        (
            call("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"),
            &[200, 200],
        ),
    ])
    .await;
}

// Covers: HTTP-02, SEC-01
#[tokio::test]
async fn a_request_target_with_a_foreign_host_is_refused() {
    let to = |target: &str| call("").replacen("/mcp", target, 1);
    check([
        (to("http://localhost/mcp"), &[200, 200][..]),
        (to("http://evil.example.com/mcp"), &[403, 200]),
        (to("http://localhost@evil.example.com/mcp"), &[403, 200]),
        (to("http://evil.example.com@localhost/mcp"), &[403, 200]),
        (
            to("http://localhost/mcp").replacen("Host: localhost", "Host: evil.example.com", 1),
            &[403, 200],
        ),
        (to("//evil.example.com/mcp"), &[404, 200]),
        (to("/%6dcp"), &[404, 200]),
        (to("*"), &[404, 200]),
        (to("localhost:80"), &[404, 200]),
    ])
    .await;
}

// Covers: SEC-03
#[tokio::test]
async fn the_body_of_a_refused_request_is_not_read_as_the_next_request() {
    let inner = call("");
    let length = format!("Content-Length: {}\r\n", inner.len());
    let refused = |fields: &str| post(&format!("{fields}{length}"), "");
    let cases = [
        (refused("Origin: http://evil.example.com\r\n"), 403),
        (refused("").replacen("/mcp", "/other", 1), 404),
        (refused("").replacen("POST", "GET", 1), 405),
        (refused("").replacen("POST", "DELETE", 1), 405),
        (refused("").replacen("POST", "PUT", 1), 405),
        (refused("Content-Encoding: gzip\r\n"), 415),
        (refused("Mcp-Method: tools/call\r\n"), 400),
    ];
    let server = serve().await;
    for (request, status) in cases {
        // The call is in the place of the refused request's body.
        let got = statuses(&server, &(request.clone() + &inner)).await;
        assert_eq!(got, [status], "{request:?}");
    }
}

// Covers: HDR-03, HDR-05, HDR-08
#[tokio::test]
async fn an_encoded_header_value_is_compared_and_never_echoed() {
    let server = serve().await;
    let evil = "=?base64?bm90aGluZw0KSG9zdDogZXZpbAA=?="; // nothing, CR, LF, Host: evil, NUL
    for request in [
        Request::tool("nothing", json!({})).with("Mcp-Name", evil),
        Request::modern(1, "prompts/get", json!({"name": "greet"})).with("Mcp-Name", evil),
        Request::modern(1, "resources/read", json!({"uri": "test://static"}))
            .with("Mcp-Name", evil),
        Request::modern(1, "resources/read", json!({"uri": "test://static"}))
            .with("Mcp-Name", "test://json"),
        Request::modern(1, "prompts/get", json!({"name": "greet"})).with("Mcp-Name", "review"),
        Request::tool("mirror", json!({"region": "eu"})).header("Mcp-Param-Region", evil),
    ] {
        let (status, message) = server.message(&request).await;
        assert_eq!((status, &message["error"]["code"]), (400, &json!(-32020)));
        assert!(!message.to_string().contains("evil"), "{message}");
    }
    // In the body, the same text is a name like any other, and no tool has it.
    let same = Request::tool("nothing\r\nHost: evil\0", json!({})).with("Mcp-Name", evil);
    server.refused(&same, 200, -32602).await;
}

// Covers: LHTTP-08, LHTTP-12
#[tokio::test]
async fn unknown_session_and_event_ids_are_refused() {
    let server = serve().await;
    let session = server.session(Version::V2025_11_25).await;
    let get =
        |session: &str| Request::new("GET", Version::V2025_11_25).header("Mcp-Session-Id", session);
    for id in [
        "",
        "*",
        "../",
        "a b",
        "a%0d%0ab",
        &session.to_ascii_uppercase(),
        &session[1..],
        &format!("{session}="),
        &format!("{session},{session}"),
        &"x".repeat(10_000),
    ] {
        server.refused(&get(id), 404, -32600).await;
    }
    for id in [
        "",
        "0",
        "1:",
        ":1",
        "-1:0",
        "0:18446744073709551615",
        "18446744073709551615:18446744073709551615",
        "18446744073709551616:0",
        "0:0%0d%0a",
        "7:0",
        &"1".repeat(10_000),
    ] {
        let request = get(&session).header("Last-Event-ID", id);
        server.refused(&request, 400, -32600).await;
    }
}
