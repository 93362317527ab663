//! Liveness and readiness endpoints for orchestrators and load balancers.
//!
//! Probes are answered before the host check and authentication, because orchestrators address a machine and have no
//! token. They therefore tell nothing but a status: no body, no reason. The log has the reason.

pub(in crate::http) mod paths;
mod readiness;
#[cfg(test)]
mod tests;

use hyper::header::{self, HeaderValue};
use hyper::{Method, Response, StatusCode};

use crate::http::response::answer;
use crate::http::response::body::HttpBody;
pub(in crate::http) use paths::HealthPaths;
pub(in crate::http) use readiness::Readiness;
pub(crate) use readiness::ReadyCheck;

/// A question that an orchestrator asks about this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) enum Probe {
    /// The process answers at all. If it does not, it should be restarted.
    Live,
    /// Requests may be sent here.
    Ready,
}

/// Answers a probe. `is_good` is evaluated only for methods that are served.
pub(in crate::http) async fn answer_probe(
    method: &Method,
    is_good: impl Future<Output = bool>,
) -> Response<HttpBody> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        let mut response = answer::empty(StatusCode::METHOD_NOT_ALLOWED);
        let allow = HeaderValue::from_static("GET, HEAD");
        response.headers_mut().insert(header::ALLOW, allow);
        return response;
    }
    let mut response = answer::empty(if is_good.await {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    });
    // The answer of a cache would be that of another moment.
    let no_store = HeaderValue::from_static("no-store");
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, no_store);
    response
}
