//! Liveness and readiness endpoints for orchestrators and load balancers.
//!
//! Probes are answered before the host check and authentication, because orchestrators use a machine's address and have
//! no token. The response therefore has a status but no body, and the reason for a failure is only logged.

use std::future::Future;

use hyper::header::HeaderValue;
use hyper::{Method, Response, StatusCode, header};

use crate::response;
use crate::response::HttpBody;

/// A probe that an orchestrator sends to this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HealthProbe {
    /// Checks that the process responds. If it does not respond, the orchestrator should restart it.
    Live,
    /// Checks that requests may be sent to this process.
    Ready,
}

/// Answers a probe with status 200 or 503, depending on `is_good`, which is evaluated only for GET and HEAD.
pub(crate) async fn answer_probe(
    method: &Method,
    is_good: impl Future<Output = bool>,
) -> Response<HttpBody> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        let mut response = response::empty_response(StatusCode::METHOD_NOT_ALLOWED);
        let allow = HeaderValue::from_static("GET, HEAD");
        response.headers_mut().insert(header::ALLOW, allow);
        return response;
    }
    let mut response = response::empty_response(if is_good.await {
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

// --- Paths at which probes are answered.

/// Paths at which probes are answered, and the setting that turns them on or off.
#[derive(Clone, Debug)]
pub(crate) struct HealthPaths {
    pub(crate) live: String,
    pub(crate) ready: String,
    /// `None` means that this crate's listener answers probes but a service mounted in another program does not,
    /// because that program may already use these paths.
    pub(crate) served: Option<bool>,
}

impl Default for HealthPaths {
    fn default() -> Self {
        Self {
            live: "/livez".to_owned(),
            ready: "/readyz".to_owned(),
            served: None,
        }
    }
}

impl HealthPaths {
    /// Returns the probe that this crate's listener serves at this path, if any.
    pub(crate) fn probe_at(&self, path: &str) -> Option<HealthProbe> {
        if self.served == Some(false) {
            return None;
        }
        let at = [
            (&self.live, HealthProbe::Live),
            (&self.ready, HealthProbe::Ready),
        ];
        at.into_iter()
            .find_map(|(of, probe)| (path == of).then_some(probe))
    }

    /// Returns the path and probe for each route that a mounted service adds.
    #[cfg(feature = "axum")]
    pub(crate) fn routes_when_mounted(&self) -> Vec<(&str, HealthProbe)> {
        if self.served == Some(true) {
            vec![
                (&self.live, HealthProbe::Live),
                (&self.ready, HealthProbe::Ready),
            ]
        } else {
            Vec::new()
        }
    }

    /// Returns an error message if both probes have the same path or if one of their paths is also one of the
    /// protocol's `endpoints`.
    pub(crate) fn fault(&self, endpoints: &[&str]) -> Option<String> {
        if self.served == Some(false) {
            return None;
        }
        let twice = if self.live == self.ready || endpoints.contains(&&*self.live) {
            &self.live
        } else if endpoints.contains(&&*self.ready) {
            &self.ready
        } else {
            return None;
        };
        Some(format!(
            "the HTTP path `{twice}` is used twice: choose others with `HttpOptions::live_path` and `ready_path`, or call \
             `HttpOptions::health(false)`"
        ))
    }
}

/// Returns the path, adding a leading slash if it is missing.
pub(crate) fn absolute_path(path: impl Into<String>) -> String {
    let mut path = path.into();
    if !path.starts_with('/') {
        path.insert(0, '/');
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_probe_gets_a_status_and_no_more() {
        for (method, is_good, status) in [
            (Method::GET, true, StatusCode::OK),
            (Method::HEAD, true, StatusCode::OK),
            (Method::GET, false, StatusCode::SERVICE_UNAVAILABLE),
            (Method::POST, true, StatusCode::METHOD_NOT_ALLOWED),
            (Method::OPTIONS, true, StatusCode::METHOD_NOT_ALLOWED),
        ] {
            let response = answer_probe(&method, async move { is_good }).await;
            assert_eq!(response.status(), status, "{method}");
            assert!(
                hyper::body::Body::is_end_stream(response.body())
                    || hyper::body::Body::size_hint(response.body()).exact() == Some(0)
            );
            let is_allowed = status != StatusCode::METHOD_NOT_ALLOWED;
            assert_eq!(response.headers().contains_key(header::ALLOW), !is_allowed);
            assert_eq!(
                response.headers().contains_key(header::CACHE_CONTROL),
                is_allowed
            );
        }
    }

    #[test]
    fn a_path_that_is_used_twice_is_a_mistake() {
        let paths = |live: &str, ready: &str, served| HealthPaths {
            live: live.into(),
            ready: ready.into(),
            served,
        };
        assert_eq!(HealthPaths::default().fault(&["/mcp"]), None);
        for (live, ready) in [("/a", "/a"), ("/mcp", "/a"), ("/a", "/mcp")] {
            let fault = paths(live, ready, None).fault(&["/mcp"]).unwrap();
            assert!(fault.contains("health(false)"), "{fault}");
            assert_eq!(paths(live, ready, Some(false)).fault(&["/mcp"]), None);
        }
    }

    #[test]
    fn probe_paths_are_compared_exactly() {
        let paths = HealthPaths::default();
        assert_eq!(paths.probe_at("/livez"), Some(HealthProbe::Live));
        assert_eq!(paths.probe_at("/readyz"), Some(HealthProbe::Ready));
        for path in [
            "/",
            "/livez/",
            "//livez",
            "/LIVEZ",
            "/%6civez",
            "/livez/../mcp",
        ] {
            assert_eq!(paths.probe_at(path), None, "{path}");
        }
    }
}
