//! Liveness and readiness endpoints for orchestrators and load balancers.
//!
//! Probes are answered before the host check and authentication, because orchestrators use a machine's address and have
//! no token. The response therefore has a status but no body, and the reason for a failure is only logged.

pub(in crate::http) mod paths;
mod readiness;
#[cfg(test)]
mod tests;

use hyper::header::{self, HeaderValue};
use hyper::{Method, Response, StatusCode};

use crate::http::response::answer;
use crate::http::response::body::HttpBody;
pub(in crate::http) use paths::HealthPaths;
pub(in crate::http) use readiness::ReadinessProbe;
pub(crate) use readiness::ReadyCheck;

/// A probe that an orchestrator sends to this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) enum HealthProbe {
    /// Checks that the process responds. If it does not respond, the orchestrator should restart it.
    Live,
    /// Checks that requests may be sent to this process.
    Ready,
}

/// Answers a probe with status 200 or 503, depending on `is_good`, which is evaluated only for GET and HEAD.
pub(in crate::http) async fn answer_probe(
    method: &Method,
    is_good: impl Future<Output = bool>,
) -> Response<HttpBody> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        let mut response = answer::empty_response(StatusCode::METHOD_NOT_ALLOWED);
        let allow = HeaderValue::from_static("GET, HEAD");
        response.headers_mut().insert(header::ALLOW, allow);
        return response;
    }
    let mut response = answer::empty_response(if is_good.await {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    });
    // A cached answer could be out of date.
    let no_store = HeaderValue::from_static("no-store");
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, no_store);
    response
}
