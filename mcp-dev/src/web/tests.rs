use axum::body::Body;
use axum::http::Request;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::json;

use super::*;
use crate::hub::Hub;

async fn status(path: &str, headers: &[(&str, &str)]) -> StatusCode {
    send(path, headers).await.status()
}

async fn send(path: &str, headers: &[(&str, &str)]) -> Response {
    send_to(4000, path, headers).await
}

async fn send_to(port: u16, path: &str, headers: &[(&str, &str)]) -> Response {
    let token = Token::new().unwrap();
    let text = token.to_string();
    let engine = Arc::new(Engine::new(Arc::new(Hub::new("server", false))));
    let routes = router(port, 4001, token, engine);
    let headers = headers
        .iter()
        .map(|(name, value)| (*name, value.replace("TOKEN", &text)));
    get_from(routes, path, headers).await
}

/// Sends a request to these routes.
async fn get_from(
    routes: Router,
    path: &str,
    headers: impl IntoIterator<Item = (&str, String)>,
) -> Response {
    use hyper::service::Service as _;
    let mut request = Request::get(path);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let service = hyper_util::service::TowerToHyperService::new(routes);
    service
        .call(request.body(Body::empty()).unwrap())
        .await
        .unwrap()
}

const HOST: (&str, &str) = ("host", "127.0.0.1:4000");
const TOKEN: (&str, &str) = ("x-mcp-dev-token", "TOKEN");

/// Browsers omit the port.
#[tokio::test]
async fn the_page_can_be_at_the_usual_port() {
    let headers = [("host", "localhost"), ("origin", "http://localhost"), TOKEN];
    let response = send_to(80, "/api/messages/1", &headers).await;
    assert_eq!(response.status(), StatusCode::NOT_FOUND);
    let response = send_to(4000, "/api/messages/1", &headers).await;
    assert_eq!(response.status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn requests_without_the_token_or_with_a_foreign_origin_are_refused() {
    let open = status(
        "/api/messages/1",
        &[HOST, TOKEN, ("origin", "http://127.0.0.1:4000")],
    )
    .await;
    assert_eq!(open, StatusCode::NOT_FOUND);
    let local = status("/api/messages/1", &[("host", "localhost:4000"), TOKEN]).await;
    assert_eq!(local, StatusCode::NOT_FOUND);

    for token in [None, Some("TOKE"), Some("TOKENX"), Some("")] {
        let token = token.map(|token| ("x-mcp-dev-token", token));
        let headers: Vec<_> = [HOST].into_iter().chain(token).collect();
        assert_eq!(
            status("/api/messages/1", &headers).await,
            StatusCode::UNAUTHORIZED
        );
        assert_eq!(
            status("/api/events", &headers).await,
            StatusCode::UNAUTHORIZED
        );
    }
    for stranger in [
        ("origin", "http://evil.example"),
        ("origin", "http://127.0.0.1:4001"),
        ("origin", "http://localhost:4000"),
        ("origin", "null"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ] {
        let refused = status("/api/messages/1", &[HOST, TOKEN, stranger]).await;
        assert_eq!(refused, StatusCode::FORBIDDEN, "{stranger:?}");
    }
    for host in ["evil.example:4000", "127.0.0.1", "127.0.0.1:4001", ""] {
        assert_eq!(
            status("/", &[("host", host)]).await,
            StatusCode::FORBIDDEN,
            "{host}"
        );
    }
    assert_eq!(status("/", &[]).await, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_cross_site_link_can_open_the_page_but_not_load_its_files() {
    let link = [
        HOST,
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "navigate"),
    ];
    assert_eq!(status("/", &link).await, StatusCode::OK);
    assert_eq!(status("/main.js", &link).await, StatusCode::FORBIDDEN);
    let framed = [
        HOST,
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "no-cors"),
    ];
    assert_eq!(status("/", &framed).await, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn the_page_has_no_inline_scripts_and_all_its_files_exist() {
    let page = send("/", &[HOST]).await;
    let policy = page.headers()["content-security-policy"].to_str().unwrap();
    assert!(
        policy.contains("script-src 'self'")
            && policy.contains("frame-src http://127.0.0.1:4001")
            && !policy.contains("unsafe"),
        "{policy}"
    );
    assert_eq!(
        status("/../Cargo.toml", &[HOST]).await,
        StatusCode::NOT_FOUND
    );
    let html = include_str!("../../page/index.html");
    for file in ["style.css", "main.js", "icon.svg"] {
        assert!(html.contains(file));
        assert_eq!(status(&format!("/{file}"), &[HOST]).await, StatusCode::OK);
    }
    assert!(!html.contains("<script>") && !html.contains("style=") && !html.contains("onclick"));
}

#[tokio::test]
async fn every_response_of_the_page_and_of_app_frames_is_protected() {
    let policy = BASE64_URL_SAFE_NO_PAD.encode("default-src 'none'");
    let frames = |path: &str, host: &str| {
        let headers = [("host", host.to_owned())];
        let path = path.to_owned();
        async move { get_from(frames::router(4001, 4000), &path, headers).await }
    };
    let frame = frames(&format!("/{policy}"), "127.0.0.1:4001").await;
    assert_eq!(frame.status(), StatusCode::OK);
    assert_eq!(
        frame.headers()["content-security-policy"],
        "frame-ancestors http://127.0.0.1:4000 http://localhost:4000; default-src 'none'"
    );
    for (response, status) in [
        (frame, StatusCode::OK),
        (
            frames("/%FF", "127.0.0.1:4001").await,
            StatusCode::BAD_REQUEST,
        ),
        (
            frames("/x/y", "127.0.0.1:4001").await,
            StatusCode::NOT_FOUND,
        ),
        (
            frames(&format!("/{policy}"), "evil.example").await,
            StatusCode::FORBIDDEN,
        ),
        (send("/", &[HOST]).await, StatusCode::OK),
        (
            send("/api/messages/1", &[HOST]).await,
            StatusCode::UNAUTHORIZED,
        ),
    ] {
        assert_eq!(response.status(), status);
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-store"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            let found = response
                .headers()
                .get(name)
                .map(|value| value.to_str().unwrap());
            assert_eq!(found, Some(value), "{name} with {status}");
        }
    }
}

#[tokio::test]
async fn a_call_without_a_server_fails_with_a_reason() {
    let hub = Arc::new(Hub::new("server", false));
    let engine = Arc::new(Engine::new(Arc::clone(&hub)));
    let (_, mut events) = hub.open();
    let call = json!({"key": "k", "era": "modern", "method": "tools/list"});
    engine.call(serde_json::from_value(call).unwrap()).await;
    let event = tokio::time::timeout(Duration::from_secs(20), events.recv()).await;
    let event = event.expect("the call ends in time").unwrap();
    assert!(event.contains("no build has succeeded"), "{event}");
}
