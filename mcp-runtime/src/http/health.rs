//! Liveness and readiness endpoints for orchestrators and load balancers.
//!
//! Probes are answered before the host check and authentication, because orchestrators use a machine's address and have
//! no token. The response therefore has a status but no body, and the reason for a failure is only logged.

#[cfg(test)]
mod tests;

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared, join_all};
use hyper::header::HeaderValue;
use hyper::{Method, Response, StatusCode, header};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use crate::error::BoxError;
use crate::error::Causes;
use crate::http::response;
use crate::http::response::HttpBody;
use crate::sync::lock;

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
pub(in crate::http) struct HealthPaths {
    pub(in crate::http) live: String,
    pub(in crate::http) ready: String,
    /// `None` means that this crate's listener answers probes but a service mounted in another program does not,
    /// because that program may already use these paths.
    pub(in crate::http) served: Option<bool>,
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
    pub(in crate::http) fn probe_at(&self, path: &str) -> Option<HealthProbe> {
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
    pub(in crate::http) fn routes_when_mounted(&self) -> Vec<(&str, HealthProbe)> {
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
    pub(in crate::http) fn fault(&self, endpoints: &[&str]) -> Option<String> {
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
pub(in crate::http) fn absolute_path(path: impl Into<String>) -> String {
    let mut path = path.into();
    if !path.starts_with('/') {
        path.insert(0, '/');
    }
    path
}

// --- Checks the services that a server depends on, such as its database.
//
// Anyone who can reach the server may ask whether it is ready. No matter how many requests arrive, at most one round
// of checks runs at a time, and at most one round begins per second. A round continues even if the client that started
// it disconnects.

/// Duration for which a round's outcome is reused.
const OUTCOME_LIFETIME: Duration = Duration::from_secs(1);

type CheckFuture = Pin<Box<dyn Future<Output = Result<(), BoxError>> + Send>>;

/// A readiness check that the server's author has added. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ReadyCheck {
    name: Arc<str>,
    check: Arc<dyn Fn() -> CheckFuture + Send + Sync>,
    /// `true` if the latest run failed. Used to log only changes.
    is_failing: Arc<AtomicBool>,
    /// Begins a round. Only programs with a check contain it.
    begin_round: fn(Vec<Self>, Duration) -> ReadinessRound,
}

impl ReadyCheck {
    pub(crate) fn new<F, E>(
        name: impl Into<String>,
        check: impl Fn() -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<BoxError>,
    {
        Self {
            name: name.into().into(),
            check: Arc::new(move || {
                let checking = check();
                Box::pin(async move { checking.await.map_err(Into::into) })
            }),
            is_failing: Arc::default(),
            begin_round: ReadinessRound::begin,
        }
    }

    /// Runs the check once. Returns `true` if it passed.
    async fn passes(&self, limit: Duration) -> bool {
        let checking = AssertUnwindSafe(async { (self.check)().await }).catch_unwind();
        let problem = match timeout(limit, checking).await {
            Ok(Ok(Ok(()))) => {
                if self.is_failing.swap(false, Relaxed) {
                    tracing::info!(check = &*self.name, "ready again");
                }
                return true;
            }
            Ok(Ok(Err(error))) => Causes(&*error).to_string(),
            Ok(Err(_)) => "the check panicked".to_owned(),
            Err(_) => format!("the check took longer than {limit:?}"),
        };
        if !self.is_failing.swap(true, Relaxed) {
            tracing::warn!(check = &*self.name, error = problem, "not ready");
        }
        false
    }
}

/// All of a server's readiness checks.
pub(in crate::http) struct ReadinessProbe {
    checks: Vec<ReadyCheck>,
    /// Time limit for each check.
    limit: Duration,
    latest: Mutex<Option<ReadinessRound>>,
}

/// One run of all checks.
struct ReadinessRound {
    since: Instant,
    passed: Shared<BoxFuture<'static, bool>>,
}

impl ReadinessProbe {
    pub(in crate::http) fn new(checks: Vec<ReadyCheck>, limit: Duration) -> Self {
        Self {
            checks,
            limit,
            latest: Mutex::default(),
        }
    }

    /// Returns `true` if all checks pass. Reuses a round that is still running or that began less than a second ago.
    pub(in crate::http) async fn is_ready(&self) -> bool {
        let Some(check) = self.checks.first() else {
            return true;
        };
        let passed = {
            let mut latest = lock(&self.latest);
            let usable = latest.as_ref().filter(|round| {
                round.passed.peek().is_none() || round.since.elapsed() < OUTCOME_LIFETIME
            });
            if let Some(round) = usable {
                round.passed.clone()
            } else {
                let round = (check.begin_round)(self.checks.clone(), self.limit);
                latest.insert(round).passed.clone()
            }
        };
        passed.await
    }
}

impl ReadinessRound {
    /// Begins to run the checks, each within the time limit.
    fn begin(checks: Vec<ReadyCheck>, limit: Duration) -> Self {
        let mut task = ReadinessRoundTask(tokio::spawn(async move {
            let passed = join_all(checks.iter().map(|check| check.passes(limit))).await;
            passed.into_iter().all(|passed| passed)
        }));
        Self {
            since: Instant::now(),
            passed: async move { (&mut task.0).await.unwrap_or(false) }
                .boxed()
                .shared(),
        }
    }
}

/// The task that runs a round, which is aborted when this value is dropped.
struct ReadinessRoundTask(JoinHandle<bool>);

impl Drop for ReadinessRoundTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}
