//! Checks of the services that a server depends on, such as its database.
//!
//! Anyone who can reach the server may ask whether it is ready. No matter how many requests arrive, at most one round
//! of checks runs at a time, and at most one round begins per second. A round continues even if the client that started
//! it disconnects.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared, join_all};
use mcp_core::error::{BoxError, Causes};
use mcp_core::sync::lock;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

/// Duration for which a round's outcome is reused.
const OUTCOME_LIFETIME: Duration = Duration::from_secs(1);

type CheckFuture = Pin<Box<dyn Future<Output = Result<(), BoxError>> + Send>>;

/// A readiness check that the server's author has added. Cheap to clone.
#[derive(Clone)]
pub struct ReadyCheck {
    name: Arc<str>,
    check: Arc<dyn Fn() -> CheckFuture + Send + Sync>,
    /// `true` if the latest run failed. Used to log only changes.
    is_failing: Arc<AtomicBool>,
    /// Begins a round. Only programs with a check contain it.
    begin_round: fn(Vec<Self>, Duration) -> ReadinessRound,
}

impl ReadyCheck {
    /// Creates a check with a name, which is only logged.
    pub fn new<F, E>(name: impl Into<String>, check: impl Fn() -> F + Send + Sync + 'static) -> Self
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
pub struct ReadinessProbe {
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
    #[must_use]
    /// Creates a probe that runs each of these checks for at most `limit`.
    pub fn new(checks: Vec<ReadyCheck>, limit: Duration) -> Self {
        Self {
            checks,
            limit,
            latest: Mutex::default(),
        }
    }

    /// Returns `true` if all checks pass. Reuses a round that is still running or that began less than a second ago.
    pub async fn is_ready(&self) -> bool {
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::SeqCst;

    use tokio::time::advance;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(2);

    /// Returns a check that counts its runs and fails in each run for which `is_bad` returns `true`.
    fn counted(
        is_bad: impl Fn(usize) -> bool + Send + Sync + 'static,
    ) -> (ReadyCheck, Arc<AtomicUsize>) {
        let runs = Arc::<AtomicUsize>::default();
        let counter = Arc::clone(&runs);
        let check = move || {
            let run = counter.fetch_add(1, SeqCst);
            let failed = is_bad(run);
            async move { if failed { Err("no database") } else { Ok(()) } }
        };
        (ReadyCheck::new("database", check), runs)
    }

    #[tokio::test(start_paused = true)]
    async fn a_thousand_requests_run_a_check_once_a_second() {
        let (check, runs) = counted(|run| run == 1);
        let readiness = ReadinessProbe::new(vec![check], LIMIT);
        let ask = || async {
            let all = join_all((0..1_000).map(|_| readiness.is_ready())).await;
            assert!(all.iter().all(|ready| *ready == all[0]));
            all[0]
        };
        assert!(ask().await && ask().await);
        assert_eq!(runs.load(SeqCst), 1);
        for (round, ready) in [(2, false), (3, true)] {
            advance(Duration::from_secs(1)).await;
            assert_eq!((ask().await, runs.load(SeqCst)), (ready, round));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_check_that_hangs_or_panics_is_a_check_that_fails() {
        let (good, _) = counted(|_| false);
        let hangs = ReadyCheck::new("hangs", std::future::pending::<Result<(), String>>);
        let readiness = ReadinessProbe::new(vec![good.clone(), hangs], LIMIT);
        let began = Instant::now();
        assert!(!readiness.is_ready().await);
        assert_eq!(began.elapsed(), LIMIT);

        for is_late in [false, true] {
            let panics = move || {
                assert!(is_late, "before there is a future");
                async move {
                    if is_late {
                        panic!("in the future")
                    } else {
                        Ok::<(), String>(())
                    }
                }
            };
            let readiness =
                ReadinessProbe::new(vec![good.clone(), ReadyCheck::new("panics", panics)], LIMIT);
            assert!(!readiness.is_ready().await);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_goes_away_neither_stops_nor_repeats_a_check() {
        let runs = Arc::<AtomicUsize>::default();
        let counter = Arc::clone(&runs);
        let slow = move || {
            counter.fetch_add(1, SeqCst);
            async {
                tokio::time::sleep(Duration::from_millis(1_500)).await;
                Ok::<(), String>(())
            }
        };
        let readiness = ReadinessProbe::new(vec![ReadyCheck::new("slow", slow)], LIMIT);
        let asked = Instant::now();
        for _ in 0..100 {
            let gone = tokio::time::timeout(Duration::from_millis(10), readiness.is_ready()).await;
            gone.unwrap_err();
        }
        assert!(readiness.is_ready().await);
        assert_eq!(runs.load(SeqCst), 1);
        assert_eq!(asked.elapsed(), Duration::from_millis(1_500));
    }

    #[tokio::test]
    async fn checks_are_dropped_with_their_server() {
        let held = Arc::new(());
        let kept = Arc::clone(&held);
        let waits = move || {
            let kept = Arc::clone(&kept);
            async move {
                let never = std::future::pending::<Result<(), String>>().await;
                drop(kept);
                never
            }
        };
        let readiness = ReadinessProbe::new(vec![ReadyCheck::new("waits", waits)], LIMIT);
        let mut asking = Box::pin(readiness.is_ready());
        while Arc::strong_count(&held) < 3 {
            assert!((&mut asking).now_or_never().is_none());
            tokio::task::yield_now().await;
        }
        drop(asking);
        drop(readiness);
        while Arc::strong_count(&held) > 1 {
            tokio::task::yield_now().await;
        }
    }
}
