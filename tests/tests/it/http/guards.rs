//! Access to the server: hosts, web pages, media types, and headers that could be read in two ways.

use std::io::ErrorKind;

use mcp_runtime::http::HttpOptions;
use mcp_runtime::{Limits, Server};
use serde_json::json;
use tests::Version;
use tests::http::{Request, Response, connect};
use tests::wait::in_time;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::http::support::{initialize, serve, serve_with};

fn discover() -> Request {
    Request::modern(1, "server/discover", json!({}))
}

// Covers: HTTP-01, HTTP-02, SEC-01, SSE-03
#[tokio::test]
async fn a_foreign_host_or_web_page_is_refused_in_every_era_and_method() {
    let server = serve_with(HttpOptions::new().legacy_sse(true), Limits::default()).await;
    let requests = [
        discover(),
        initialize(Version::V2025_11_25),
        Request::new("GET", Version::V2025_11_25),
        Request::new("DELETE", Version::V2025_11_25),
        Request::new("OPTIONS", Version::V2025_11_25),
        Request::new("GET", Version::V2024_11_05).to("/sse"),
    ];
    for request in requests {
        for (name, value) in [
            ("Host", "evil.example.com"),
            ("Host", "evil.example.com:8000"),
            ("Host", "localhost.evil.com"),
            ("Host", "127.0.0.1.evil.com"),
            ("Origin", "http://evil.example.com"),
            ("Origin", "http://localhost.evil.com"),
            ("Origin", "null"),
        ] {
            let mut response = server.send(&request.clone().with(name, value)).await;
            assert_eq!(response.status, 403, "{name}: {value}");
            let message = response.text().await;
            assert!(
                message.contains("allow_"),
                "says what would allow it: {message}"
            );
            assert_eq!(response.header("access-control-allow-origin"), None);
        }
    }
    for (name, value) in [
        ("Host", "localhost:1"),
        ("Host", "127.0.0.1"),
        ("Host", "[::1]:8000"),
        ("Origin", "http://localhost:3000"),
        ("Origin", "https://127.0.0.1"),
        ("Origin", "http://[::1]:1"),
    ] {
        let request = discover().with(name, value);
        assert_eq!(server.message(&request).await.0, 200, "{name}: {value}");
    }
    // The target of a request may also name a host.
    let target = discover().to("http://evil.example.com/mcp");
    server.refused(&target, 403, -32600).await;
}

// Covers: HTTP-01, HTTP-14
#[tokio::test]
async fn cors_allows_only_listed_origins() {
    let options = HttpOptions::new()
        .allow_origin("https://app.example.com")
        .allow_host("mcp.example.com");
    let server = serve_with(options, Limits::default()).await;
    let page = |request: Request| {
        request
            .header("Origin", "https://app.example.com")
            .header("Host", "mcp.example.com")
    };
    let response = server.send(&page(discover())).await;
    assert_eq!(response.status, 200);
    let allowed = |response: &Response, name: &str| {
        let name = format!("access-control-{name}");
        response.header(&name).unwrap_or_default().to_owned()
    };
    assert_eq!(
        allowed(&response, "allow-origin"),
        "https://app.example.com"
    );
    for name in ["mcp-session-id", "retry-after", "www-authenticate"] {
        assert!(allowed(&response, "expose-headers").contains(name));
    }
    // Pages of this machine are not listed by that, on any port.
    for local in [
        "http://localhost:3000",
        "http://127.0.0.1:6666",
        "http://[::1]:1",
    ] {
        let response = server.send(&discover().header("Origin", local)).await;
        assert_eq!(
            (response.status, allowed(&response, "allow-origin")),
            (200, String::new())
        );
        assert_eq!(response.header("vary"), Some("Origin"));
        let asked = Request::new("OPTIONS", Version::V2026_07_28)
            .header("Origin", local)
            .header("Access-Control-Request-Method", "POST");
        let response = server.send(&asked).await;
        assert_eq!(
            (response.status, allowed(&response, "allow-methods")),
            (405, String::new())
        );
    }
    let asked = page(Request::new("OPTIONS", Version::V2026_07_28))
        .header("Access-Control-Request-Method", "POST")
        .header(
            "Access-Control-Request-Headers",
            "content-type, mcp-param-region, x-evil",
        );
    let response = server.send(&asked).await;
    assert_eq!(response.status, 204);
    let fields = allowed(&response, "allow-headers");
    for field in [
        "content-type",
        "authorization",
        "mcp-method",
        "mcp-session-id",
        "last-event-id",
        "mcp-param-region",
    ] {
        assert!(fields.contains(field), "{fields}");
    }
    assert!(!fields.contains("x-evil"));

    let local = HttpOptions::new().allow_origin("http://LOCALHOST:3000");
    let open = serve_with(local, Limits::default()).await;
    for (origin, is_granted) in [
        ("http://localhost:3000", true),
        ("http://localhost:3001", false),
    ] {
        let response = open.send(&discover().header("Origin", origin)).await;
        let expected = if is_granted { origin } else { "" };
        assert_eq!(allowed(&response, "allow-origin"), expected);
    }

    let closed = serve().await;
    let response = closed
        .send(&Request::new("OPTIONS", Version::V2026_07_28))
        .await;
    assert_eq!(response.status, 405);
    let local = discover().header("Origin", "http://localhost:3000");
    let response = closed.send(&local).await;
    assert_eq!(response.header("access-control-allow-origin"), None);
}

// Covers: HTTP-14
#[tokio::test]
async fn a_listed_web_page_can_read_every_response_whatever_its_status() {
    const PAGE: &str = "https://app.example.com";
    let server = serve_with(HttpOptions::new().allow_origin(PAGE), Limits::default()).await;
    let get = |path: &str| Request::new("GET", Version::V2026_07_28).to(path);
    let metadata = "/.well-known/oauth-protected-resource";
    for (request, status) in [
        (get(metadata), 404),
        (discover().to("/other"), 404),
        (discover().with("Host", "evil.example.com"), 403),
        (discover().header("Content-Type", "text/plain"), 400),
        (Request::new("PUT", Version::V2026_07_28), 405),
        (get("/livez"), 200),
        (get("/livez").with("Host", "10.1.2.3:8000"), 200),
    ] {
        for (page, readable) in [(PAGE, Some(PAGE)), ("http://localhost:3000", None)] {
            let response = server.send(&request.clone().header("Origin", page)).await;
            assert_eq!(response.status, status, "{request:?}");
            let origin = response.header("access-control-allow-origin");
            assert_eq!(origin, readable, "{request:?}");
            assert_eq!(response.header("vary"), Some("Origin"));
        }
    }
    // The header by which clients name their protocol version causes a preflight request, at an unknown path too.
    for (page, status) in [(PAGE, 204), ("http://localhost:3000", 404)] {
        let asked = Request::new("OPTIONS", Version::V2026_07_28)
            .to(metadata)
            .header("Origin", page)
            .header("Access-Control-Request-Method", "GET")
            .header("Access-Control-Request-Headers", "mcp-protocol-version");
        let response = server.send(&asked).await;
        assert_eq!(response.status, status);
        let headers = response.header("access-control-allow-headers");
        assert_eq!(
            headers.is_some_and(|headers| headers.contains("mcp-protocol-version")),
            status == 204
        );
    }
}

// Covers: HTTP-13, SEC-01
#[tokio::test]
async fn content_types_that_need_no_cors_preflight_are_refused() {
    let server = serve().await;
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain; application/json",
        "application/jsonp",
    ] {
        server
            .refused(&discover().with("Content-Type", kind), 415, -32600)
            .await;
    }
    server
        .refused(&discover().without("Content-Type"), 415, -32600)
        .await;
    let gzip = discover().header("Content-Encoding", "gzip");
    let (status, message) = server.message(&gzip).await;
    assert_eq!(status, 415);
    assert!(
        message["error"]["message"]
            .as_str()
            .unwrap()
            .contains("Content-Encoding")
    );
    let charset = discover().with("Content-Type", "application/json; charset=utf-8");
    assert_eq!(server.message(&charset).await.0, 200);
}

// Covers: HTTP-04, LHTTP-01
#[tokio::test]
async fn other_methods_and_paths_are_not_there() {
    let server = serve().await;
    for verb in ["PUT", "PATCH", "TRACE"] {
        let response = server.send(&Request::new(verb, Version::V2026_07_28)).await;
        assert_eq!(response.status, 405, "{verb}");
        assert!(response.header("allow").unwrap().contains("POST"));
    }
    for path in ["/", "/mcp/", "/mcp2", "/sse", "/../mcp"] {
        assert_eq!(
            server.send(&discover().to(path)).await.status,
            404,
            "{path}"
        );
    }
    assert_eq!(server.message(&discover().to("/mcp?x=1")).await.0, 200);
}

// Covers: HDR-01, HDR-08, SEC-03
#[tokio::test]
async fn a_header_that_could_be_read_in_two_ways_is_refused() {
    let server = serve().await;
    for (name, value) in [
        ("Host", "localhost"),
        ("Content-Type", "application/json"),
        ("Origin", "http://localhost"),
        ("Authorization", "Bearer a"),
        ("Mcp-Method", "server/discover"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Session-Id", "a"),
        ("Last-Event-ID", "1:1"),
    ] {
        let request = discover().with(name, value).header(name, value);
        assert_eq!(server.send(&request).await.status, 400, "{name}");
    }
    // These are refused by hyper itself: nothing reaches a handler.
    for head in [
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Method: a\rb\r\n\r\n",
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Method : a\r\n\r\n",
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\n folded\r\n\r\n",
        "nonsense\r\n\r\n",
    ] {
        let mut stream = connect(server.address).await;
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        match in_time(stream.read_to_string(&mut answer)).await {
            Ok(_) => assert!(
                answer.is_empty() || answer.starts_with("HTTP/1.1 400"),
                "{answer}"
            ),
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
        }
    }
}

#[tokio::test]
async fn an_address_in_use_is_named() {
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().unwrap();
    let error = crate::fixture::server().serve_http(address).await;
    let error = error.unwrap_err();
    assert_eq!(error.kind(), mcp_runtime::server::ErrorKind::Io);
    assert!(error.to_string().contains(&address.to_string()), "{error}");
}

// Covers: HTTP-03, SEC-01
#[tokio::test]
async fn an_address_that_others_can_reach_needs_its_host_names() {
    let server = || crate::fixture::server();
    let refused = |server: Server| async { server.serve_http("0.0.0.0:0").await.unwrap_err() };
    let error = refused(server()).await;
    assert_eq!(error.kind(), mcp_runtime::server::ErrorKind::Configuration);
    assert!(error.to_string().contains("--allow-host"));
    let allowed = server().http(HttpOptions::new().allow_host("mcp.example.com"));
    let handle = allowed.handle();
    handle.shut_down();
    allowed.serve_http("0.0.0.0:0").await.unwrap();
    let local = server();
    local.handle().shut_down();
    local.serve_http("[::1]:0").await.unwrap();
}
