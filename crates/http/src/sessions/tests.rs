//! Tests for creating and removing live parts.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::body::Body as _;
use hyper::{Request, Response};
use mcp_core::context::ServerHandle;
use mcp_core::handler::dynamic::{DynamicResource, DynamicTool};
use mcp_core::limits::Limits;
use mcp_core::sync::CancellationToken;
use mcp_runtime::Server;
use mcp_stores::{EventStore, MaybeReady, MemoryEvents, MemorySessions, SessionStore, StreamEntry};
use tower_service::Service as _;

use crate::{HttpBody, HttpOptions, HttpService, HttpSessions};

const SECOND: Duration = Duration::from_secs(1);

fn service() -> (HttpService, ServerHandle) {
    serve(Limits::default(), HttpOptions::new())
}

fn serve(limits: Limits, options: HttpOptions) -> (HttpService, ServerHandle) {
    let server = Server::new("test", "1").limits(limits);
    let handle = server.handle();
    let schema = serde_json::json!({"type": "object"});
    let tool = DynamicTool::new("t", schema, async |_, _| "");
    handle.tools().insert(tool).unwrap();
    let resource = DynamicResource::new("a://a", "a", async |_| "");
    handle.resources().insert(resource).unwrap();
    let dispatcher = Arc::clone(server.build().unwrap().dispatcher());
    let service = HttpService::new(
        dispatcher,
        options,
        Vec::new(),
        CancellationToken::default(),
    );
    (service, handle)
}

async fn send(
    service: &HttpService,
    verb: &str,
    session: &str,
    message: &str,
) -> Response<HttpBody> {
    let mut request = Request::builder()
        .method(verb)
        .header("host", "localhost")
        .header("content-type", "application/json");
    if !session.is_empty() {
        request = request.header("mcp-session-id", session);
    }
    let body = HttpBody::from_bytes(message.as_bytes().to_vec());
    let request = request.body(body).unwrap();
    service.clone().call(request).await.unwrap()
}

async fn open(service: &HttpService) -> String {
    let shake = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
    let shaken = send(service, "POST", "", shake).await;
    let session = shaken.headers()["mcp-session-id"].to_str().unwrap();
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(send(service, "POST", session, ready).await.status(), 202);
    session.to_owned()
}

async fn next(stream: &mut Response<HttpBody>) -> String {
    frame(stream).await.unwrap()
}

/// Returns the next frame, or `None` at the end.
async fn frame(stream: &mut Response<HttpBody>) -> Option<String> {
    let body = stream.body_mut();
    let frame = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await;
    let bytes = frame?.unwrap().into_data().unwrap();
    Some(String::from_utf8(bytes.to_vec()).unwrap())
}

fn live(service: &HttpService) -> usize {
    service.0.sessions.lock_live().sessions.len()
}

#[tokio::test(start_paused = true)]
async fn an_idle_session_is_unloaded_and_later_notified_of_list_changes() {
    let (service, handle) = service();
    let session = open(&service).await;
    assert_eq!(live(&service), 0);
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    assert_eq!(send(&service, "POST", &session, list).await.status(), 200);
    assert_eq!(live(&service), 1);
    tokio::time::sleep(12 * SECOND).await;
    assert_eq!(live(&service), 0);
    handle.notify().tools_changed();
    let mut stream = send(&service, "GET", &session, "").await;
    let told = next(&mut stream).await;
    assert!(told.contains("notifications/tools/list_changed"), "{told}");
    // The session's stream is kept for a while, for a client that reconnects.
    drop(stream);
    tokio::time::sleep(60 * SECOND).await;
    assert_eq!(live(&service), 1);
    tokio::time::sleep(300 * SECOND).await;
    assert_eq!(live(&service), 0);
    assert_eq!(send(&service, "POST", &session, list).await.status(), 200);
    tokio::time::sleep(86_401 * SECOND).await;
    assert_eq!(live(&service), 0);
    assert_eq!(send(&service, "POST", &session, list).await.status(), 404);
}

#[tokio::test(start_paused = true)]
async fn an_idle_session_misses_no_update_of_a_subscribed_resource() {
    let limits = Limits::default().with(|limits| {
        limits.sessions.idle_timeout = 300 * SECOND;
        limits.sessions.streaming_idle_timeout = 1_800 * SECOND;
    });
    let (service, handle) = serve(limits, HttpOptions::new());
    let session = open(&service).await;
    let follow =
        r#"{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a://a"}}"#;
    assert_eq!(send(&service, "POST", &session, follow).await.status(), 200);
    tokio::time::sleep(60 * SECOND).await;
    assert_eq!(live(&service), 1);
    handle.notify().resource_updated("a://a");
    let mut stream = send(&service, "GET", &session, "").await;
    let mut told = next(&mut stream).await;
    if !told.contains("updated") {
        told = next(&mut stream).await;
    }
    assert!(told.contains("a://a"), "{told}");
    // An open stream keeps the session for half an hour, with these limits.
    for minutes in [29, 7] {
        let is_there = live(&service) == 1;
        assert!(is_there, "before {minutes} more minutes");
        tokio::time::sleep(60 * minutes * SECOND).await;
    }
    assert_eq!(live(&service), 0);
}

#[tokio::test(start_paused = true)]
async fn a_stream_queues_only_notifications_that_fit() {
    const RESOURCES: usize = 100;
    let limits = Limits::default().with(|limits| limits.streams.max_outgoing_bytes = 2_000);
    let (service, handle) = serve(limits.clone(), HttpOptions::new());
    let session = open(&service).await;
    for number in 0..RESOURCES {
        let follow = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{{"uri":"a://{number}"}}}}"#
        );
        let followed = send(&service, "POST", &session, &follow).await;
        assert_eq!(followed.status(), 200);
    }
    let live = service.0.sessions.find_live(&session).unwrap();
    let stream = live.standalone_stream(&limits);
    for _ in 0..3 {
        for number in 0..RESOURCES {
            handle.notify().resource_updated(format!("a://{number}"));
        }
        live.queue_notifications(&stream);
        // The last notification may exceed the limit.
        let unread = stream.unread_bytes();
        assert!((2_000..2_200).contains(&unread), "{unread}");
    }
    let mut reading = send(&service, "GET", &session, "").await;
    let mut told = String::new();
    // Every change is reported. It is reported more than once only if its notification was taken before the next
    // change.
    for number in 0..RESOURCES {
        let uri = format!("\"a://{number}\"");
        while !told.contains(&uri) {
            told += &next(&mut reading).await;
            assert!(told.len() < 100_000, "{uri} is lost");
        }
    }
    assert!(told.matches("updated").count() < RESOURCES + 30);
}

#[tokio::test(start_paused = true)]
async fn requests_of_a_session_that_ended_at_another_instance_end_it_here_too() {
    let store: Arc<dyn SessionStore> = Arc::new(MemorySessions::new(&Limits::default()));
    let sessions = || HttpSessions::Store(Arc::clone(&store));
    let instance = || serve(Limits::default(), HttpOptions::new().sessions(sessions()));
    let [(one, _one), (two, _two)] = [instance(), instance()];
    let session = open(&one).await;
    let mut stream = send(&one, "GET", &session, "").await;
    assert_eq!(live(&one), 1);
    let deleted = send(&two, "DELETE", &session, "").await;
    assert_eq!(deleted.status(), 204);
    let began = tokio::time::Instant::now();
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    assert_eq!(send(&one, "POST", &session, list).await.status(), 404);
    assert_eq!(live(&one), 0);
    while frame(&mut stream).await.is_some() {}
    assert!(began.elapsed().is_zero());
}

/// Stores events in memory, unless it is away: then it answers at once with an error, or too late.
struct UnsteadyEvents {
    kept: MemoryEvents,
    fails: AtomicBool,
    is_slow: AtomicBool,
}

impl EventStore for UnsteadyEvents {
    fn append<'a>(
        &'a self,
        session: &'a str,
        stream: u64,
        position: u64,
        entry: StreamEntry,
        keep: Duration,
    ) -> MaybeReady<'a, ()> {
        if self.fails.load(Ordering::Relaxed) {
            return MaybeReady::Ready(Err("the connection was cut".into()));
        }
        if self.is_slow.load(Ordering::Relaxed) {
            return MaybeReady::later(std::future::pending());
        }
        self.kept.append(session, stream, position, entry, keep)
    }

    fn read<'a>(
        &'a self,
        session: &'a str,
        stream: u64,
        after: u64,
    ) -> MaybeReady<'a, Option<Vec<StreamEntry>>> {
        self.kept.read(session, stream, after)
    }

    fn forget<'a>(&'a self, session: &'a str) -> MaybeReady<'a, ()> {
        self.kept.forget(session)
    }
}

fn unsteady_instances() -> (Arc<UnsteadyEvents>, [(HttpService, ServerHandle); 2]) {
    let limits = Limits::default();
    let records: Arc<dyn SessionStore> = Arc::new(MemorySessions::new(&limits));
    let events = Arc::new(UnsteadyEvents {
        kept: MemoryEvents::new(&limits),
        fails: AtomicBool::new(false),
        is_slow: AtomicBool::new(false),
    });
    let instance = || {
        let sessions = HttpSessions::Store(Arc::clone(&records));
        let events: Arc<dyn EventStore> = events.clone();
        let options = HttpOptions::new().sessions(sessions).event_store(events);
        serve(Limits::default(), options)
    };
    let instances = [instance(), instance()];
    (events, instances)
}

/// Continues a session's stream after the last event in `received`.
async fn resume(service: &HttpService, session: &str, received: &str) -> Response<HttpBody> {
    let mut lines = received.lines().rev();
    let id = lines.find_map(|line| line.strip_prefix("id: "));
    let request = Request::builder()
        .method("GET")
        .header("host", "localhost")
        .header("mcp-session-id", session)
        .header("last-event-id", id.unwrap());
    let request = request.body(HttpBody::from_bytes(Vec::new())).unwrap();
    service.clone().call(request).await.unwrap()
}

/// Reads a stream until it has announced this many changes of the list of tools.
async fn expect_changes(stream: &mut Response<HttpBody>, count: usize) -> String {
    let mut received = String::new();
    let reading = tokio::time::timeout(15 * SECOND, async {
        while received.matches("tools/list_changed").count() < count {
            received += &next(stream).await;
        }
    });
    assert!(reading.await.is_ok(), "{received}");
    received
}

#[tokio::test(start_paused = true)]
async fn events_wait_for_the_event_store_again_after_it_recovers() {
    let limits = Limits::default();
    let (events, [(one, handle), (two, _two)]) = unsteady_instances();
    let session = open(&one).await;
    let mut stream = send(&one, "GET", &session, "").await;
    let mut told = async |handle: &ServerHandle| {
        handle.notify().tools_changed();
        let began = tokio::time::Instant::now();
        let mut told = next(&mut stream).await;
        while !told.contains("list_changed") {
            told = next(&mut stream).await;
        }
        (told, began.elapsed())
    };
    let (first, _) = told(&handle).await;
    // Nobody waits for a store that fails.
    events.fails.store(true, Ordering::Relaxed);
    let (_, waited) = told(&handle).await;
    assert!(waited < SECOND, "{waited:?}");
    events.fails.store(false, Ordering::Relaxed);
    tokio::time::sleep(5 * SECOND).await;
    // The store is back, so an event is stored before it is read.
    events.is_slow.store(true, Ordering::Relaxed);
    let (_, waited) = told(&handle).await;
    assert!(waited >= limits.sessions.store_timeout, "{waited:?}");
    events.is_slow.store(false, Ordering::Relaxed);
    tokio::time::sleep(5 * SECOND).await;
    // A client that moves gets the two events that came after the first one. It is told of the change once more, because
    // its record does not say yet that it has been told.
    let mut moved = resume(&two, &session, &first).await;
    expect_changes(&mut moved, 3).await;
}

#[tokio::test(start_paused = true)]
async fn an_event_stored_after_its_client_moved_is_sent_at_the_new_instance() {
    let (events, [(one, handle), (two, _two)]) = unsteady_instances();
    let session = open(&one).await;
    let mut stream = send(&one, "GET", &session, "").await;
    handle.notify().tools_changed();
    let received = expect_changes(&mut stream, 1).await;
    events.is_slow.store(true, Ordering::Relaxed);
    handle.notify().tools_changed();
    assert!(
        tokio::time::timeout(SECOND, next(&mut stream))
            .await
            .is_err()
    );
    drop(stream);
    let mut moved = resume(&two, &session, &received).await;
    // The other instance tells of everything, because it does not know what has changed.
    expect_changes(&mut moved, 1).await;
    events.is_slow.store(false, Ordering::Relaxed);
    expect_changes(&mut moved, 1).await;
}
