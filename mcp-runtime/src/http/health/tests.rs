//! Tests for probes and the checks behind them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use hyper::{Method, StatusCode, header};
use tokio::time::{Instant, advance};

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
