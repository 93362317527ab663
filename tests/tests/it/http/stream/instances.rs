//! Streams that continue at another instance.

use std::sync::Arc;
use std::time::Duration;

use mcp_runtime::Limits;
use mcp_runtime::backend::{EventStore, MemoryEvents, MemorySessions};
use serde_json::json;
use tests::Version;
use tests::client::PATIENCE;
use tests::http::{Request, Response};
use tokio::time::timeout;

use crate::backend::Folder;
use crate::http::stores::{Mood, SlowEvents, instances};
use crate::http::support::{Served, call, next_in_time, text};

fn memory() -> Arc<dyn EventStore> {
    Arc::new(MemoryEvents::new(&Limits::default()))
}

async fn serve(events: Option<Arc<dyn EventStore>>) -> [Served; 2] {
    let limits =
        Limits::default().with(|limits| limits.sessions.store_timeout = Duration::from_millis(500));
    let sessions = Arc::new(MemorySessions::new(&limits));
    instances(sessions, events, limits).await
}

/// Opens a session's stream or resumes it after an event.
fn get(session: &str, after: Option<&str>) -> Request {
    let request = Request::new("GET", Version::V2025_11_25).header("Mcp-Session-Id", session);
    match after {
        Some(id) => request.header("Last-Event-ID", id).answering("tools/call"),
        None => request,
    }
}

/// Returns the id of the next event that contains data.
async fn next_id(stream: &mut Response) -> String {
    loop {
        let event = stream.event().await.unwrap();
        if !event.data.is_empty() {
            return event.id.unwrap();
        }
    }
}

// Covers: LHTTP-05, LHTTP-08
#[tokio::test]
async fn a_client_can_resume_a_running_call_at_another_instance() {
    let folder = Folder::new();
    let in_a_file = Arc::new(folder.open());
    for events in [memory(), Arc::new(SlowEvents::new()), in_a_file] {
        let [one, two] = serve(Some(events)).await;
        for version in [
            Version::V2025_03_26,
            Version::V2025_06_18,
            Version::V2025_11_25,
        ] {
            let session = one.session(version).await;
            let request = call(&session, 1, "report_and_wait", json!({}), version);
            let mut broken = one.send(&request).await;
            let seen = next_id(&mut broken).await;
            drop(broken);
            let mut elsewhere = two.send(&get(&session, Some(&seen))).await;
            assert_eq!(elsewhere.status, 200);
            one.shared.0.go_on.notify_waiters();
            let rest = elsewhere.all().await;
            assert_eq!(rest.len(), 1);
            assert_eq!((text(&rest[0]), &rest[0]["id"]), ("waited", &json!(1)));
            // It can be read again from either instance, even from the beginning.
            for server in [&one, &two] {
                let mut again = server.send(&get(&session, Some(&seen))).await;
                assert_eq!(again.all().await.len(), 1);
                let start = format!("{}:0", seen.split_once(':').unwrap().0);
                let mut again = server.send(&get(&session, Some(&start))).await;
                assert_eq!(again.all().await.len(), 2);
            }
        }
    }
}

// Covers: LHTTP-04, LHTTP-09
#[tokio::test]
async fn a_client_whose_connection_was_closed_can_resume_at_another_instance() {
    let [one, two] = serve(Some(memory())).await;
    let session = one.session(Version::V2025_11_25).await;
    let request = call(&session, 1, "let_go", json!({}), Version::V2025_11_25);
    let mut stream = one.send(&request).await;
    let primed = stream.event().await.unwrap();
    assert_eq!((&*primed.data, primed.retry.is_some()), ("", true));
    assert_eq!(stream.event().await, None);
    let mut elsewhere = two.send(&get(&session, primed.id.as_deref())).await;
    one.shared.0.go_on.notify_waiters();
    assert_eq!(text(&elsewhere.next().await.unwrap()), "came back");
    assert_eq!(elsewhere.next().await, None);
}

// Covers: LHTTP-08, SEC-02
#[tokio::test]
async fn events_of_another_session_are_not_replayed_at_any_instance() {
    let [one, two] = serve(Some(memory())).await;
    let mine = one.session(Version::V2025_11_25).await;
    let foreign = one.session(Version::V2025_11_25).await;
    let request = call(
        &mine,
        1,
        "report",
        json!({"values": [1, 2]}),
        Version::V2025_11_25,
    );
    let mut stream = one.send(&request).await;
    let seen = next_id(&mut stream).await;
    stream.all().await;
    for server in [&one, &two] {
        let request = get(&foreign, Some(&seen));
        server.refused(&request, 400, -32600).await;
        let beyond = format!("{}:99", seen.split_once(':').unwrap().0);
        let request = get(&mine, Some(&beyond));
        server.refused(&request, 400, -32600).await;
    }
    let mut elsewhere = two.send(&get(&mine, Some(&seen))).await;
    assert_eq!(elsewhere.all().await.len(), 2);
    // Nothing remains of a session that was ended.
    let delete = Request::new("DELETE", Version::V2025_11_25).header("Mcp-Session-Id", &mine);
    assert_eq!(two.send(&delete).await.status, 204);
    two.refused(&get(&mine, Some(&seen)), 404, -32600).await;
}

// Covers: LHTTP-08
#[tokio::test]
async fn without_an_event_store_a_stream_is_resumed_only_at_its_instance() {
    let [one, two] = serve(None).await;
    let session = one.session(Version::V2025_11_25).await;
    let request = call(
        &session,
        1,
        "report",
        json!({"values": [1]}),
        Version::V2025_11_25,
    );
    let mut stream = one.send(&request).await;
    let seen = next_id(&mut stream).await;
    stream.all().await;
    let request = get(&session, Some(&seen));
    two.refused(&request, 400, -32600).await;
    assert_eq!(one.send(&request).await.all().await.len(), 1);
}

// Covers: LHTTP-06, LHTTP-08
#[tokio::test]
async fn another_instance_sends_missed_notifications_before_its_own() {
    let [one, two] = serve(Some(memory())).await;
    let session = one.session(Version::V2025_11_25).await;
    let mut stream = one.send(&get(&session, None)).await;
    one.handle.notify().tools_changed();
    let seen = next_id(&mut stream).await;
    one.handle.notify().prompts_changed();
    next_id(&mut stream).await;
    drop(stream);
    let request = get(&session, Some(&seen));
    let mut elsewhere = two.send(&request).await;
    let told = elsewhere.next().await.unwrap();
    assert_eq!(told["method"], "notifications/prompts/list_changed");
    // This instance does not know which changes the other instance has reported to the client.
    let mut all = Vec::new();
    for _ in 0..3 {
        let told = next_in_time(&mut elsewhere).await;
        all.push(told["method"].as_str().unwrap().to_owned());
    }
    all.sort_unstable();
    assert_eq!(
        all,
        ["prompts", "resources", "tools"].map(|list| format!("notifications/{list}/list_changed"))
    );
    two.handle.notify().resources_changed();
    let told = elsewhere.next().await.unwrap();
    assert_eq!(told["method"], "notifications/resources/list_changed");
}

// Covers: LHTTP-08
#[tokio::test]
async fn a_failing_event_store_prevents_only_resuming() {
    for mood in [Mood::Fails, Mood::Hangs] {
        let events = Arc::new(SlowEvents::new());
        let [one, two] = serve(Some(events.clone())).await;
        let session = one.session(Version::V2025_11_25).await;
        let request = call(
            &session,
            1,
            "report",
            json!({"values": [1, 2]}),
            Version::V2025_11_25,
        );
        let mut stream = one.send(&request).await;
        let seen = next_id(&mut stream).await;
        stream.all().await;
        events.is(mood);
        let mut response = two.send(&get(&session, Some(&seen))).await;
        assert_eq!(response.status, 503);
        assert!(response.header("retry-after").is_some());
        response.message().await;
        let mut stream = one.send(&request).await;
        assert_eq!(stream.all().await.len(), 3, "{mood:?}");
        events.is(Mood::Well);
        let mut elsewhere = two.send(&get(&session, Some(&seen))).await;
        assert_eq!(elsewhere.all().await.len(), 2);
    }
}

// Covers: LHTTP-08
#[tokio::test]
async fn a_stream_ends_with_its_session_while_an_event_is_being_stored() {
    let events = Arc::new(SlowEvents::new());
    let [one, _] = serve(Some(events.clone())).await;
    let session = one.session(Version::V2025_11_25).await;
    let mut stream = one.send(&get(&session, None)).await;
    one.handle.notify().tools_changed();
    next_id(&mut stream).await;
    events.is(Mood::Hangs);
    one.handle.notify().prompts_changed();
    events.until_it_hangs().await;
    let delete = Request::new("DELETE", Version::V2025_11_25).header("Mcp-Session-Id", &session);
    assert_eq!(one.send(&delete).await.status, 204);
    timeout(PATIENCE, stream.all()).await.expect("it ends");
}

// Covers: LHTTP-05, LHTTP-08
#[tokio::test]
async fn a_resumed_stream_begins_with_the_id_after_which_it_can_be_resumed_again() {
    let [one, two] = serve(Some(memory())).await;
    for version in [Version::V2025_06_18, Version::V2025_11_25] {
        let session = one.session(version).await;
        let request = call(&session, 1, "report_and_wait", json!({}), version);
        let mut broken = one.send(&request).await;
        let seen = next_id(&mut broken).await;
        drop(broken);
        for instance in [&two, &one, &two] {
            let resume = Request::new("GET", version).header("Mcp-Session-Id", &session);
            let resume = resume
                .header("Last-Event-ID", &seen)
                .answering("tools/call");
            let mut stream = instance.send(&resume).await;
            if version == Version::V2025_11_25 {
                let first = stream.event().await.unwrap();
                assert_eq!((first.id.as_ref(), &*first.data), (Some(&seen), ""));
            }
        }
    }
}
