//! The client's address and the path that it requested, for a service that is mounted in another program.

use std::net::SocketAddr;

use hyper::http::Extensions;
#[cfg(any(feature = "auth", feature = "axum"))]
use hyper::http::request::Parts;

/// Returns the client's address, if the program serves its router with `into_make_service_with_connect_info`.
#[cfg(feature = "axum")]
pub(super) fn peer_address(extensions: &Extensions) -> Option<SocketAddr> {
    use axum::extract::ConnectInfo;
    extensions.get().map(|ConnectInfo(peer)| *peer)
}

/// Returns `None`, because only axum provides the client's address.
#[cfg(not(feature = "axum"))]
pub(super) const fn peer_address(_: &Extensions) -> Option<SocketAddr> {
    None
}

/// Returns a request's path as the client sees it, even within nested routers.
#[cfg(feature = "axum")]
pub(super) fn original_path(parts: &Parts) -> Option<&str> {
    use axum::extract::OriginalUri;
    let original = parts.extensions.get();
    original.map(|OriginalUri(uri)| uri.path())
}

/// Returns a request's full path, even within nested routers.
#[cfg(feature = "auth")]
pub(super) fn full_path(parts: &Parts) -> &str {
    #[cfg(feature = "axum")]
    if let Some(path) = original_path(parts) {
        return path;
    }
    parts.uri.path()
}
