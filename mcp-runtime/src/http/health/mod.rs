//! Liveness and readiness endpoints for orchestrators and load balancers.
//!
//! Probes are answered before the host check and authentication, because orchestrators address a machine and have no
//! token. The response is therefore only a status, without a body; the reason is logged.

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

/// A question that an orchestrator asks about this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) enum Probe {
    /// The process responds. If it does not, it should be restarted.
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
