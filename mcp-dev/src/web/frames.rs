//! Serves app frames on a separate port, so that their origin differs from the main page's. A frame contains only a
//! proxy and has the policy that the app declares, which is Base64-encoded in the URL's path.

use std::sync::Arc;

use anyhow::Result;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Router, middleware};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use tokio::net::TcpListener;

use super::guard::protect;

const PAGE: &str = include_str!("../../page/app.html");

/// Serves the frames for the page on port `page`, until the listener fails.
pub(crate) async fn serve(listener: TcpListener, page: u16) -> Result<()> {
    let port = listener.local_addr()?.port();
    let routes = router(port, page);
    Ok(axum::serve(listener, routes).await?)
}

struct FrameRules {
    hosts: [String; 2],
    ancestors: String,
}

pub(super) fn router(port: u16, page: u16) -> Router {
    let names = ["127.0.0.1", "localhost"];
    let ports = FrameRules {
        hosts: names.map(|name| format!("{name}:{port}")),
        ancestors: names.map(|name| format!("http://{name}:{page}")).join(" "),
    };
    Router::new()
        .route("/{policy}", get(frame))
        .with_state(Arc::new(ports))
        .layer(middleware::map_response(|mut response: Response| async {
            protect(response.headers_mut());
            response
        }))
}

async fn frame(
    State(ports): State<Arc<FrameRules>>,
    headers: HeaderMap,
    Path(policy): Path<String>,
) -> Response {
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    if !host.is_some_and(|host| ports.hosts.iter().any(|own| own == host)) {
        return StatusCode::FORBIDDEN.into_response();
    }
    let policy = BASE64_URL_SAFE_NO_PAD
        .decode(policy)
        .ok()
        .and_then(|policy| String::from_utf8(policy).ok());
    // If a directive occurs twice, browsers use the first one.
    let policy = policy.map(|policy| format!("frame-ancestors {}; {policy}", ports.ancestors));
    let policy = policy.and_then(|policy| HeaderValue::from_str(&policy).ok());
    let Some(policy) = policy else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let headers = [
        (header::CONTENT_SECURITY_POLICY, policy),
        (
            header::CONTENT_TYPE,
            HeaderValue::from_static("text/html; charset=utf-8"),
        ),
    ];
    (headers, PAGE).into_response()
}
