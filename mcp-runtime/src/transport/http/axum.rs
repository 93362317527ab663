//! Mounts the service in programs built with axum.

use axum::Router;
use axum::extract::OriginalUri;
use hyper::http::Extensions;

use super::service::HttpService;

/// A router with one route, at [`HttpOptions::path`](super::HttpOptions::path), for [`merge`](Router::merge) and
/// [`nest`](Router::nest). With feature `auth`, it also has the routes of a protected server's metadata, which clients
/// look for at the origin:
///
/// ```
/// # fn app(server: mcp_runtime::Server) -> Result<axum::Router, mcp_runtime::Error> {
/// use axum::{Router, routing::get};
///
/// let app = Router::new()
///     .route("/", get(async || "home"))
///     .merge(server.into_http_service()?);
/// # Ok(app)
/// # }
/// ```
///
/// # Panics
///
/// Panics if axum rejects the path as a malformed pattern.
impl<S: Clone + Send + Sync + 'static> From<HttpService> for Router<S> {
    fn from(service: HttpService) -> Self {
        let path = service.0.options.path.clone();
        #[cfg_attr(
            not(feature = "auth"),
            expect(unused_mut, reason = "only feature `auth` adds routes")
        )]
        let mut router = Self::new();
        #[cfg(feature = "auth")]
        if let Some(protection) = &service.0.protection {
            for document in protection.paths(&path) {
                router = router.route_service(&document, service.clone());
            }
        }
        router.route_service(&path, service)
    }
}

/// Returns the path of a request as its client sees it, also in nested routers.
pub(super) fn original_path(extensions: &Extensions) -> Option<&str> {
    extensions
        .get::<OriginalUri>()
        .map(|OriginalUri(uri)| uri.path())
}

/// Returns the client's address, if the program serves its router with `into_make_service_with_connect_info`.
#[cfg(feature = "telemetry")]
pub(super) fn peer_address(extensions: &Extensions) -> Option<std::net::SocketAddr> {
    use axum::extract::ConnectInfo;
    extensions.get().map(|ConnectInfo(peer)| *peer)
}
