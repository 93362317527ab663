//! Resources behind which is a service that can only be asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use serde_json::json;
use tests::{Client, Version};

use crate::support::connect;

const URI: &str = "watched:///tickets";

/// A service that is asked for the version of its data.
#[derive(Default)]
struct Upstream {
    version: AtomicU32,
    asked: AtomicU32,
    fails: AtomicBool,
}

impl Upstream {
    fn fetch(&self) -> Result<u32, &'static str> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        assert_ne!(
            self.version.load(Ordering::Relaxed),
            13,
            "a version that makes it panic"
        );
        if self.fails.load(Ordering::Relaxed) {
            return Err("it is down");
        }
        Ok(self.version.load(Ordering::Relaxed))
    }

    /// How often it was asked since the last time.
    fn asked(&self) -> u32 {
        self.asked.swap(0, Ordering::Relaxed)
    }
}

#[resource("watched:///tickets", tags("watch"))]
fn tickets() -> &'static str {
    "tickets"
}

fn server(upstream: &Arc<Upstream>) -> Server {
    Server::new("watch", "1")
        .only(Selected::tag("watch"))
        .state(Arc::clone(upstream))
        .watch(
            URI,
            Duration::from_secs(10),
            async |api: State<Upstream>| {
                tokio::task::yield_now().await;
                api.fetch()
            },
        )
}

async fn subscribe(client: &mut Client, version: Version) {
    if version.is_modern() {
        client
            .listen(json!("l"), json!({"resourceSubscriptions": [URI]}))
            .await;
    } else {
        client.ok("resources/subscribe", json!({"uri": URI})).await;
    }
}

async fn updated(client: &mut Client) {
    let update = client.notification("notifications/resources/updated").await;
    assert_eq!(update["uri"], URI);
}

#[tokio::test(start_paused = true)]
async fn subscribed_clients_are_notified_of_changes_and_others_cause_no_work() {
    for version in Version::ERAS {
        let upstream = Arc::new(Upstream::default());
        let mut client = connect(server(&upstream), version).await;
        tokio::time::sleep(Duration::from_secs(100)).await;
        assert_eq!(upstream.asked(), 0, "{version:?}");
        subscribe(&mut client, version).await;
        // The resource may have changed since the client read it.
        updated(&mut client).await;
        assert_eq!(upstream.asked(), 1);
        tokio::time::sleep(Duration::from_secs(100)).await;
        let asked = upstream.asked();
        assert!((9..=11).contains(&asked), "{asked}");
        assert_eq!(client.drain().await, Vec::<serde_json::Value>::new());
        upstream.version.store(1, Ordering::Relaxed);
        updated(&mut client).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_that_fails_is_asked_less_often_until_it_works_again() {
    let (log, _guard) = crate::results::Log::begin();
    let upstream = Arc::new(Upstream::default());
    let mut client = connect(server(&upstream), Version::V2026_07_28).await;
    subscribe(&mut client, Version::V2026_07_28).await;
    updated(&mut client).await;
    for panics in [false, true] {
        upstream.fails.store(true, Ordering::Relaxed);
        upstream
            .version
            .store(if panics { 13 } else { 0 }, Ordering::Relaxed);
        upstream.asked();
        tokio::time::sleep(Duration::from_hours(24)).await;
        let asked = upstream.asked();
        // Every 15 minutes, at last.
        assert!((90..=120).contains(&asked), "{asked}");
        upstream.fails.store(false, Ordering::Relaxed);
        upstream
            .version
            .store(1 + u32::from(panics), Ordering::Relaxed);
        // It is asked again within 15 minutes.
        tokio::time::sleep(Duration::from_secs(1_000)).await;
        updated(&mut client).await;
        upstream.asked();
        tokio::time::sleep(Duration::from_secs(100)).await;
        let asked = upstream.asked();
        assert!((9..=11).contains(&asked), "{asked}");
    }
    let log = log.take();
    let warnings = log.lines().filter(|line| line.contains("WARN"));
    assert_eq!(warnings.count(), 2, "{log}");
    assert!(log.contains("it is down"), "{log}");
}

#[test]
fn what_cannot_be_watched_is_an_error_at_the_start() {
    let fetch = async || Ok::<_, std::io::Error>(1);
    let server = || Server::new("watch", "1").only(Selected::tag("watch"));
    for (server, expected) in [
        (
            server().watch("no uri", Duration::from_secs(1), fetch),
            "`watch`: ",
        ),
        (
            server().watch(URI, Duration::ZERO, fetch),
            "shorter than a tenth of a second",
        ),
        (
            server().watch(URI, Duration::from_secs(1), async |_: State<Upstream>| {
                Ok::<_, std::io::Error>(1)
            }),
            "takes the state of type `Upstream`, which the server does not have",
        ),
    ] {
        let error = server.build().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
