//! Mounts the service in programs built with axum.

use axum::Router;
use axum::body::Body;
use axum::extract::{OriginalUri, Request};
use axum::http::Uri;
use axum::http::request::Parts;
use axum::routing::any;

use crate::service::{HttpService, Route};

/// Returns the URI that a request had before nested routers removed the part of its path that led to the service.
pub(super) fn original_uri(parts: &Parts) -> Option<Uri> {
    let original = parts.extensions.get::<OriginalUri>()?;
    Some(original.0.clone())
}

/// Creates a router with a single route at [`HttpOptions::path`](crate::HttpOptions::path), for use with
/// [`merge`](Router::merge) and [`nest`](Router::nest). With the `auth` feature, it also has routes for a protected
/// server's metadata, which clients look for at the origin. If
/// [`HttpOptions::health`](crate::HttpOptions::health) is turned on, the router also has the routes for probes, and it has those of
/// [`HttpOptions::route`](crate::HttpOptions::route).
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
        let mut router = Self::new();
        #[cfg(feature = "auth")]
        for document in service.0.authentication.public_document_paths(&path) {
            router = router.route_service(&document, service.clone());
        }
        for (path, probe) in service.0.options.health.routes_when_mounted() {
            let service = service.clone();
            let answer = async move |request: Request| {
                let Ok(response) = service
                    .respond(Route::Probe(probe), None, None, request)
                    .await;
                response.map(Body::new)
            };
            router = router.route(path, any(answer));
        }
        for route in &service.0.options.routes {
            router = router.route_service(&route.path, service.clone());
        }
        router.route_service(&path, service)
    }
}
