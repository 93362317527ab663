//! Background work that a program gives to its server.

use std::time::Duration;

use mcp_runtime::{Limits, Server};
use tests::Version;
use tests::wait::{in_time, until};
use tokio::sync::mpsc::unbounded_channel;

use crate::fixture;
use crate::support::raw;

const DRAIN: Duration = Duration::from_secs(2);

fn server() -> Server {
    let limits = Limits::default().with(|all| all.calls.drain_timeout = DRAIN);
    fixture::server().limits(limits)
}

#[tokio::test(start_paused = true)]
async fn background_work_starts_with_the_server_and_has_time_to_end() {
    for version in Version::ERAS {
        let server = server();
        let handle = server.handle();
        let (events, mut seen) = unbounded_channel();
        handle.spawn({
            let (handle, events) = (handle.clone(), events.clone());
            async move {
                events.send("begins").unwrap();
                handle.stopping().await;
                events.send("stops").unwrap();
                tokio::time::sleep(DRAIN / 2).await;
                events.send("ends").unwrap();
            }
        });
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert!(seen.is_empty(), "the server does not serve yet");

        let mut client = raw(server, version).connect().await;
        assert_eq!(in_time(seen.recv()).await, Some("begins"));
        client.close().await;
        assert_eq!(in_time(seen.recv()).await, Some("stops"));
        assert_eq!(in_time(seen.recv()).await, Some("ends"));

        until(async || events.is_closed() || client.read().await.is_none()).await;
        handle.spawn(async move { events.send("too late").unwrap() });
        assert_eq!(in_time(seen.recv()).await, None);
    }
}

#[tokio::test(start_paused = true)]
async fn background_work_that_does_not_end_is_dropped() {
    let server = server();
    let (events, mut seen) = unbounded_channel::<()>();
    server.handle().spawn(async move {
        std::future::pending::<()>().await;
        events.send(()).unwrap();
    });
    let mut client = raw(server, Version::V2026_07_28).connect().await;
    let before = tokio::time::Instant::now();
    client.close().await;
    assert_eq!(in_time(seen.recv()).await, None);
    let waited = before.elapsed();
    assert!(
        (DRAIN..DRAIN * 2).contains(&waited),
        "dropped after {waited:?}"
    );
}
