//! HEAD requests, which get the status and the headers of a GET request.

use mcp_runtime::Limits;
use mcp_runtime::auth::{Jwt, ProtectedResource};
use mcp_runtime::http::{HttpOptions, HttpSessions};
use serde_json::json;
use tests::Version;
use tests::http::{Request, Response, connect, response, response_on, write};

use crate::http::support::{Served, next_in_time, serve_with};

/// Compares the answers to HEAD and GET; returns their status.
async fn same(server: &Served, request: impl Fn(&'static str) -> Request) -> u16 {
    let (head, get) = (request("HEAD"), request("GET"));
    let mut stream = connect(server.address).await;
    write(&mut stream, &head).await;
    let described = response(stream, &head).await.unwrap();
    let got = server.send(&get).await;
    assert_eq!(described.status, got.status, "{head:?}");
    let headers = |of: &Response| {
        [
            "content-type",
            "content-length",
            "cache-control",
            "allow",
            "location",
            "www-authenticate",
            "x-accel-buffering",
        ]
        // An empty body has no length that is worth mentioning.
        .map(|name| {
            of.header(name)
                .filter(|value| *value != "0")
                .map(str::to_owned)
        })
    };
    assert_eq!(headers(&described), headers(&got), "{head:?}");
    let status = described.status;
    // There is no body: the next answer on the connection follows at once.
    let probe = Request::new("GET", Version::V2025_11_25).to("/livez");
    let mut stream = described.into_stream();
    write(stream.get_mut(), &probe).await;
    assert_eq!(response_on(stream, &probe).await.unwrap().status, 200);
    status
}

#[tokio::test]
async fn head_is_answered_like_get_on_every_path() {
    let to = |path: &'static str| {
        move |verb| {
            Request::new(verb, Version::V2024_11_05)
                .to(path)
                .without("MCP-Protocol-Version")
        }
    };
    let server = serve_with(HttpOptions::new().legacy_sse(true), Limits::default()).await;
    let session = server.session(Version::V2025_11_25).await;
    let of = |session: &str, accept: &str| {
        let (session, accept) = (session.to_owned(), accept.to_owned());
        move |verb| {
            Request::new(verb, Version::V2025_11_25)
                .with("Accept", &accept)
                .header("Mcp-Session-Id", &session)
        }
    };
    for (path, status) in [
        ("/livez", 200),
        ("/readyz", 200),
        ("/other", 404),
        ("/sse", 200),
        ("/mcp", 200),
    ] {
        assert_eq!(same(&server, to(path)).await, status, "{path}");
    }
    for (id, accept, status) in [
        (&*session, "text/event-stream", 200),
        (&session, "application/json", 406),
        ("unknown", "text/event-stream", 404),
    ] {
        assert_eq!(same(&server, of(id, accept)).await, status, "{id} {accept}");
    }
    let modern = |verb| {
        let version = Version::V2026_07_28;
        Request::new(verb, version).with("MCP-Protocol-Version", version.date())
    };
    assert_eq!(same(&server, modern).await, 405);
    let server = serve_with(HttpOptions::new(), Limits::default()).await;
    assert_eq!(same(&server, to("/mcp")).await, 400);
    assert_eq!(same(&server, to("/sse")).await, 404);
    let none = HttpOptions::new().sessions(HttpSessions::None);
    let server = serve_with(none, Limits::default()).await;
    assert_eq!(same(&server, of(&session, "text/event-stream")).await, 405);
}

#[tokio::test]
async fn head_needs_a_token_where_get_does() {
    let resource = "https://mcp.example.com/mcp";
    let protected = ProtectedResource::new(resource, Jwt::issuer("https://login.example.com"));
    let server = serve_with(
        HttpOptions::new().authenticate(protected),
        Limits::default(),
    )
    .await;
    for (path, status) in [
        ("/mcp", 401),
        ("/.well-known/oauth-protected-resource/mcp", 200),
    ] {
        let request = |verb| Request::new(verb, Version::V2025_11_25).to(path);
        assert_eq!(same(&server, request).await, status, "{path}");
    }
}

#[tokio::test]
async fn head_does_not_disturb_a_stream_or_open_one() {
    let limits = Limits::default().with(|limits| limits.streams.max_open = 1);
    let server = serve_with(HttpOptions::new(), limits).await;
    let session = server.session(Version::V2025_11_25).await;
    let request =
        |verb| Request::new(verb, Version::V2025_11_25).header("Mcp-Session-Id", &session);
    for _ in 0..3 {
        assert_eq!(server.send(&request("HEAD")).await.status, 200);
    }
    let mut open = server.send(&request("GET")).await;
    assert_eq!(open.status, 200);
    assert_eq!(server.send(&request("HEAD")).await.status, 200);
    server.handle.notify().tools_changed();
    let told = next_in_time(&mut open).await;
    assert_eq!(told["method"], json!("notifications/tools/list_changed"));
}
