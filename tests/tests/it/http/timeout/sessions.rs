//! Sessions and their streams.

use std::sync::Arc;
use std::time::Duration;

use mcp_runtime::Limits;
use mcp_runtime::backend::{MaybeReady, MemorySessions, SessionRecord, SessionStore};
use mcp_runtime::http::{HttpOptions, HttpSessions};
use serde_json::json;
use tests::Version;
use tests::http::{Request, response, response_on, write};
use tests::wait::for_a_paused_day;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _};
use tokio::time::{Instant, sleep};

use super::{MOMENT, about, just_above, just_below, serve, serve_with};
use crate::http::stores::Database;
use crate::http::support::{call, initialize};

fn ping(session: &str) -> Request {
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    Request::legacy(session, &ping, Version::V2025_11_25)
}

fn get(session: &str) -> Request {
    Request::new("GET", Version::V2025_11_25).header("Mcp-Session-Id", session)
}

/// Returns limits with which sessions end so early that the maintenance until then does not take long.
fn brief() -> Limits {
    Limits::default().with(|limits| {
        limits.sessions.start_timeout = Duration::from_secs(10);
        limits.sessions.idle_timeout = Duration::from_mins(5);
        limits.sessions.streaming_idle_timeout = Duration::from_mins(30);
    })
}

/// A session store whose lookups take a while.
struct Slow(MemorySessions, Duration);

impl SessionStore for Slow {
    fn insert<'a>(
        &'a self,
        id: &'a str,
        record: Arc<SessionRecord>,
        keep: Duration,
        in_use: &'a (dyn Fn(&str) -> bool + Sync),
    ) -> MaybeReady<'a, bool> {
        self.0.insert(id, record, keep, in_use)
    }

    fn load<'a>(
        &'a self,
        id: &'a str,
        keep: Duration,
    ) -> MaybeReady<'a, Option<Arc<SessionRecord>>> {
        MaybeReady::later(async move {
            sleep(self.1).await;
            match self.0.load(id, keep) {
                MaybeReady::Ready(known) => known,
                MaybeReady::Later(later) | MaybeReady::Bounded(later) => later.await,
            }
        })
    }

    fn save<'a>(&'a self, id: &'a str, record: Arc<SessionRecord>) -> MaybeReady<'a, bool> {
        self.0.save(id, record)
    }

    fn remove<'a>(&'a self, id: &'a str) -> MaybeReady<'a, bool> {
        self.0.remove(id)
    }
}

// Limits: sessions.store_timeout
#[tokio::test(start_paused = true)]
async fn a_session_store_has_a_timeout() {
    let limits = Limits::default();
    let most = limits.sessions.store_timeout;
    for (takes, status) in [(just_below(most), 200), (just_above(most), 503)] {
        let store = Slow(MemorySessions::new(&limits), takes);
        let options = HttpOptions::new().sessions(HttpSessions::Store(Arc::new(store)));
        let server = serve_with(limits.clone(), options, Duration::ZERO);
        let session = server.session().await;
        assert_eq!(server.status(&ping(&session)).await, status, "{takes:?}");
    }
}

// Limits: sessions.start_timeout, sessions.idle_timeout, sessions.streaming_idle_timeout
#[tokio::test(start_paused = true)]
async fn unused_sessions_end() {
    let limits = brief();
    let (start, idle) = (limits.sessions.start_timeout, limits.sessions.idle_timeout);
    let streaming = limits.sessions.streaming_idle_timeout;
    let server = serve(limits);
    for (wait, status) in [(just_below(start), 200), (just_above(start), 404)] {
        let session = server.session().await;
        sleep(wait).await;
        assert_eq!(server.status(&ping(&session)).await, status, "{wait:?}");
    }
    for (wait, status) in [(just_below(idle), 200), (just_above(idle), 404)] {
        let session = server.session().await;
        assert_eq!(server.status(&ping(&session)).await, 200);
        sleep(wait).await;
        assert_eq!(server.status(&ping(&session)).await, status, "{wait:?}");
    }
    // A stream keeps the session alive longer; the timeout is checked only occasionally.
    let slack = Duration::from_secs(30) + idle;
    for (wait, status) in [(just_below(streaming), 200), (streaming + slack, 404)] {
        let session = server.session().await;
        let open = server.send(&get(&session)).await;
        assert_eq!(open.status, 200);
        let mut silent = open.into_stream();
        let reading = tokio::spawn(async move {
            let mut all = Vec::new();
            let _ = silent.read_to_end(&mut all).await;
        });
        sleep(wait).await;
        assert_eq!(server.status(&ping(&session)).await, status, "{wait:?}");
        reading.abort();
    }
}

// Limits: sessions.streaming_idle_timeout
#[tokio::test(start_paused = true)]
async fn the_stream_of_a_2024_11_05_client_that_sends_nothing_ends() {
    let limits = brief();
    let streaming = limits.sessions.streaming_idle_timeout;
    let slack = Duration::from_secs(30) + limits.sessions.idle_timeout;
    let options = HttpOptions::new().legacy_sse(true);
    let server = serve_with(limits, options, Duration::ZERO);
    let opened = Instant::now();
    let get = Request::new("GET", Version::V2024_11_05).to("/sse");
    let mut stream = server.send(&get).await.into_stream();
    let mut all = Vec::new();
    let read = tokio::time::timeout(streaming + slack, stream.read_to_end(&mut all));
    read.await.expect("the stream ends in time").unwrap();
    assert!(opened.elapsed() > just_below(streaming));
}

// Limits: streams.replay_timeout, streams.max_replay_bytes, streams.max_replay_events
#[tokio::test(start_paused = true)]
async fn a_finished_stream_is_kept_for_a_limited_time() {
    let time = Limits::default().streams.replay_timeout;
    let slack = Duration::from_secs(10);
    // Reporting one value takes two events, the value and the answer, in addition to the priming event.
    let size = 400;
    for (limits, wait, status) in [
        (Limits::default(), just_below(time), 200),
        (Limits::default(), time + slack, 400),
        (
            Limits::default().with(|limits| limits.streams.max_replay_events = 3),
            MOMENT,
            200,
        ),
        (
            Limits::default().with(|limits| limits.streams.max_replay_events = 2),
            MOMENT,
            200,
        ),
        (
            Limits::default().with(|limits| limits.streams.max_replay_events = 1),
            MOMENT,
            400,
        ),
        (
            Limits::default().with(|limits| limits.streams.max_replay_bytes = size),
            MOMENT,
            200,
        ),
        (
            Limits::default().with(|limits| limits.streams.max_replay_bytes = size / 8),
            MOMENT,
            400,
        ),
    ] {
        let server = serve(limits.clone());
        let session = server.session().await;
        let request = call(
            &session,
            1,
            "report",
            json!({"values": [1]}),
            Version::V2025_11_25,
        );
        let mut stream = server.send(&request).await;
        let mut ids = Vec::new();
        while let Some(event) = stream.event().await {
            ids.extend(event.id);
        }
        sleep(wait).await;
        let again = get(&session)
            .header("Last-Event-ID", &ids[0])
            .answering("tools/call");
        let got = server.status(&again).await;
        let (events, bytes) = (
            limits.streams.max_replay_events,
            limits.streams.max_replay_bytes,
        );
        assert_eq!(
            got, status,
            "{wait:?}, {events} events, {bytes} bytes, ids {ids:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_idle_session_lasts_for_hours_below_the_maximum() {
    let server = serve(Limits::default());
    let (silent, used) = (server.ready_session().await, server.ready_session().await);
    assert_eq!(server.status(&ping(&used)).await, 200);
    let hour = Duration::from_hours(1);
    sleep(23 * hour).await;
    for session in [silent, used] {
        assert_eq!(server.status(&ping(&session)).await, 200);
    }
    let abandoned = server.session().await;
    sleep(hour).await;
    assert_eq!(server.status(&ping(&abandoned)).await, 404);
}

// Limits: streams.keep_alive_interval
#[tokio::test(start_paused = true)]
async fn a_silent_stream_sends_a_comment_every_keep_alive_interval() {
    let limits = Limits::default();
    let keep_alive = limits.streams.keep_alive_interval;
    let server = serve(limits);
    let session = server.session().await;
    let mut open = server.send(&get(&session)).await.into_stream();
    // The first event has the id from which to resume.
    let began = Instant::now();
    let mut comments = 0;
    while comments < 2 {
        let mut line = String::new();
        let read = for_a_paused_day(open.read_line(&mut line)).await;
        assert_ne!(read.unwrap(), 0);
        comments += u32::from(line.starts_with(':'));
    }
    about(began.elapsed(), keep_alive * 2);
}

// Covers: LHTTP-12, LHTTP-19
#[tokio::test(start_paused = true)]
async fn idle_sessions_end_and_busy_ones_do_not() {
    let limits = Limits::default().with(|limits| {
        limits.sessions.start_timeout = Duration::from_millis(600);
        limits.sessions.idle_timeout = Duration::from_millis(1_500);
    });
    let server = serve(limits);
    let unused = server.session().await;
    let idle = server.ready_session().await;
    let busy = server.ready_session().await;
    let streaming = server.ready_session().await;
    let mut stream = server.connect();
    let waiting = call(&busy, 7, "wait", json!({}), Version::V2025_11_25);
    write(&mut stream, &waiting).await;
    server.shared.started(1).await;
    let get = Request::new("GET", Version::V2025_11_25).header("Mcp-Session-Id", &streaming);
    let open = server.send(&get).await;
    sleep(Duration::from_millis(800)).await;
    assert_eq!(server.status(&ping(&unused)).await, 404);
    assert_eq!(server.status(&ping(&idle)).await, 200);
    sleep(Duration::from_millis(1_800)).await;
    assert_eq!(server.status(&ping(&idle)).await, 404);
    assert_eq!(server.status(&ping(&busy)).await, 200);
    assert_eq!(server.status(&ping(&streaming)).await, 200);
    drop(open);
    server.shared.0.go_on.notify_waiters();
    assert_eq!(response(stream, &waiting).await.unwrap().status, 200);
}

// Covers: LHTTP-19
#[tokio::test(start_paused = true)]
async fn sessions_that_are_opened_and_abandoned_are_all_reaped() {
    let limits = Limits::default().with(|limits| {
        limits.sessions.start_timeout = Duration::from_millis(1);
        limits.sessions.max_sessions = 100_000;
    });
    let server = serve(limits);
    let request = initialize(Version::V2025_11_25);
    let mut stream = tokio::io::BufReader::new(server.connect());
    let mut last = String::new();
    for _ in 0..10_000 {
        write(stream.get_mut(), &request).await;
        let mut response = response_on(stream, &request).await.unwrap();
        last = response.header("mcp-session-id").unwrap().to_owned();
        response.text().await;
        stream = response.into_stream();
    }
    sleep(Duration::from_millis(10)).await;
    assert_eq!(server.status(&ping(&last)).await, 404);
}

// Covers: LHTTP-13, LHTTP-19
#[tokio::test(start_paused = true)]
async fn calls_at_other_instances_end_shortly_after_their_session() {
    let limits =
        Limits::default().with(|limits| limits.sessions.idle_timeout = Duration::from_millis(900));
    let store = Arc::<Database>::default();
    let instance = || {
        let sessions: Arc<dyn SessionStore> = store.clone();
        let options = HttpOptions::new().sessions(HttpSessions::Store(sessions));
        serve_with(limits.clone(), options, Duration::ZERO)
    };
    let (one, two) = (instance(), instance());
    let session = one.ready_session().await;
    let mut stream = one.send(&get(&session)).await;
    let mut running = one.connect();
    let wait = call(&session, 1, "wait", json!({}), Version::V2025_11_25);
    write(&mut running, &wait).await;
    one.shared.started(1).await;
    let delete = Request::new("DELETE", Version::V2025_11_25).header("Mcp-Session-Id", &session);
    // A running call keeps alive a session that would otherwise have expired by now.
    sleep(Duration::from_secs(2)).await;
    assert_eq!(two.status(&delete).await, 204);
    one.shared.dropped(1).await;
    assert_eq!(stream.next().await, None);
    assert!(response(running, &wait).await.is_some());
}
