//! Mounts the service in programs built with axum.

use axum::Router;

use crate::http::service::http_service::HttpService;

/// Creates a router with a single route at [`HttpOptions::path`](crate::http::HttpOptions::path), for use with
/// [`merge`](Router::merge) and [`nest`](Router::nest). With feature `auth`, it also has routes for a protected
/// server's metadata, which clients look for at the origin.
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
        for document in service.0.authentication.public_document_paths(&path) {
            router = router.route_service(&document, service.clone());
        }
        router.route_service(&path, service)
    }
}
