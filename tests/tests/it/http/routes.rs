//! Small routes of the author beside the endpoint.

use axum::Router;
use mcp_runtime::http::{HttpOptions, RouteRequest, RouteResponse};
use mcp_runtime::server::ErrorKind;
use mcp_runtime::{Limits, Server};
use serde_json::json;
use tests::Version;
use tests::http::{Request, send};
use tokio::net::TcpListener;

use crate::fixture;
use crate::http::support::{Served, serve_nobody_with, serve_with, text};

fn sent(verb: &'static str, path: &str) -> Request {
    Request::new(verb, Version::V2026_07_28).to(path)
}

fn echo(request: &RouteRequest) -> RouteResponse {
    let (query, header) = (request.query(), request.header("X-Word"));
    let text = format!("{} {query:?} {header:?} ", request.method());
    let body = [text.as_bytes(), request.body()].concat();
    RouteResponse::new(body)
        .status(202)
        .content_type("application/x-echo")
}

fn options() -> HttpOptions {
    HttpOptions::new()
        .route("/metrics", |_| "requests 1\n")
        .route("name", |_| "name".to_owned())
        .route("/echo", echo)
        .route("/broken", |_| -> String { panic!("on purpose") })
        .route("/wrong", |_| RouteResponse::new("").status(1_000))
        .route("/strange", |_| RouteResponse::new("").content_type("a\nb"))
}

async fn answer(served: &Served, request: &Request) -> (u16, String) {
    let mut response = served.send(request).await;
    (response.status, response.text().await)
}

#[tokio::test]
async fn a_route_answers_beside_the_endpoint() {
    let served = serve_with(options(), Limits::default()).await;
    let mut response = served.send(&sent("GET", "/metrics")).await;
    assert_eq!(response.status, 200);
    let content_type = response.header("content-type");
    assert_eq!(content_type, Some("text/plain; charset=utf-8"));
    assert_eq!(response.header("cache-control"), Some("no-store"));
    assert_eq!(response.text().await, "requests 1\n");
    assert_eq!(
        answer(&served, &sent("GET", "/name")).await,
        (200, "name".to_owned())
    );
    let mut request = sent("PUT", "/echo?a=b").header("X-Word", "hello");
    request.body = b"body".to_vec();
    let mut response = served.send(&request).await;
    assert_eq!(response.status, 202);
    assert_eq!(response.header("content-type"), Some("application/x-echo"));
    let expected = "PUT Some(\"a=b\") Some(\"hello\") body";
    assert_eq!(response.text().await, expected);
    let call = Request::tool("echo", json!({"text": "an endpoint"}));
    assert_eq!(text(&served.message(&call).await.1), "an endpoint");
    for path in ["/metrics/", "/Metrics", "//metrics"] {
        assert_eq!(served.send(&sent("GET", path)).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn a_route_that_fails_is_an_empty_500() {
    let served = serve_with(options(), Limits::default()).await;
    for path in ["/broken", "/wrong", "/strange"] {
        let expected = (500, String::new());
        assert_eq!(answer(&served, &sent("GET", path)).await, expected);
    }
    assert_eq!(answer(&served, &sent("GET", "/name")).await.0, 200);
}

#[tokio::test]
async fn a_route_needs_no_token_but_a_known_host_and_origin() {
    let served = serve_nobody_with(options()).await;
    let call = Request::tool("echo", json!({"text": "x"}));
    assert_eq!(served.send(&call).await.status, 401);
    for (name, value, expected) in [
        ("Host", "10.1.2.3:8000", 200),
        ("Host", "evil.example.com", 403),
        ("Origin", "http://localhost:3000", 200),
        ("Origin", "https://evil.example.com", 403),
        ("X-Other", "x", 200),
    ] {
        let request = sent("GET", "/metrics").header(name, value);
        let status = served.send(&request).await.status;
        assert_eq!(status, expected, "{name}: {value}");
    }
}

// Limits: http.max_body_bytes
#[tokio::test]
async fn the_limits_of_the_server_apply_to_routes() {
    let limits = Limits::default().with(|limits| limits.http.max_body_bytes = 1_000);
    let served = serve_with(options(), limits).await;
    for (bytes, expected) in [(1_000, 202), (1_001, 413)] {
        let mut request = sent("POST", "/echo");
        request.body = vec![b'x'; bytes];
        assert_eq!(served.send(&request).await.status, expected);
    }
}

#[tokio::test]
async fn the_path_of_a_route_belongs_to_nothing_else() {
    let route = |path: &str| HttpOptions::new().route(path, |_| "");
    for (options, expected) in [
        (route("/mcp"), "`/mcp` is used twice"),
        (route("/tools").path("/tools"), "`/tools` is used twice"),
        (route("/livez"), "`/livez` is used twice"),
        (
            route("/ready").ready_path("/ready"),
            "`/ready` is used twice",
        ),
        (route("/sse").legacy_sse(true), "`/sse` is used twice"),
        (route("/a").route("a", |_| ""), "`/a` is used twice"),
        (
            route("/.well-known/oauth-protected-resource"),
            "is used twice",
        ),
        (route("/{any}"), "is not a plain path"),
        (route("/a b"), "is not a plain path"),
        (route("/a?b"), "is not a plain path"),
    ] {
        let server: Server = fixture::server();
        let error = server.http(options).into_http_service().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
        assert!(error.to_string().contains(expected), "{error}");
    }
    for options in [route("/livez").health(false), route("/sse")] {
        let server = fixture::server().http(options);
        server.into_http_service().unwrap();
    }
}

#[tokio::test]
async fn a_mounted_service_serves_its_routes() {
    let service = fixture::server().http(options()).into_http_service();
    let mounted: Router = service.unwrap().into();
    let service = fixture::server().http(options()).into_http_service();
    let apps = [mounted, Router::new().fallback_service(service.unwrap())];
    for app in apps {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        let mut response = send(address, &sent("GET", "/metrics")).await;
        assert_eq!(response.status, 200);
        assert_eq!(response.text().await, "requests 1\n");
        let call = Request::tool("echo", json!({"text": "mounted"}));
        let message = send(address, &call).await.message().await;
        assert_eq!(text(&message), "mounted");
    }
}
