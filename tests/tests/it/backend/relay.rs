//! Change notifications that reach the clients of other instances.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use mcp_runtime::Limits;
use mcp_runtime::backend::{Backend, MemorySessions, NotificationRelay, RelayedTexts, StoreFuture};
use mcp_runtime::http::HttpOptions;
use serde_json::{Value, json};
use tests::Version;
use tests::http::{Request, Response};
use tests::wait::until;
use tokio::sync::watch;

use super::on_session;
use crate::fixture;
use crate::http::support::{Served, next_in_time, serve_server};

const URI: &str = "test://static";

/// An in-process log.
struct Log {
    /// The number of logs before this one, and the texts in this one.
    texts: Mutex<(usize, Vec<String>)>,
    changed: watch::Sender<()>,
    fails: AtomicBool,
    /// `true` if receivers are not woken.
    is_silent: AtomicBool,
}

impl Log {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            texts: Mutex::default(),
            changed: watch::Sender::new(()),
            fails: AtomicBool::new(false),
            is_silent: AtomicBool::new(false),
        })
    }

    /// Loses all texts.
    fn lose(&self) {
        {
            let mut texts = self.texts.lock().unwrap();
            *texts = (texts.0 + 1, Vec::new());
        }
        self.changed.send_replace(());
    }

    fn read(&self, after: Option<&str>) -> RelayedTexts {
        let (log, texts) = &*self.texts.lock().unwrap();
        let end = format!("{log} {}", texts.len());
        let Some(after) = after else {
            return RelayedTexts::new(Some(vec![]), end);
        };
        let seen = after
            .split_once(' ')
            .filter(|(of, _)| **of == log.to_string());
        let seen = seen.and_then(|(_, seen)| seen.parse::<usize>().ok());
        let rest = seen.and_then(|seen| texts.get(seen..));
        RelayedTexts::new(rest.map(<[String]>::to_vec), end)
    }
}

impl NotificationRelay for Log {
    fn publish<'a>(&'a self, texts: &'a [String]) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            if self.fails.load(Ordering::Relaxed) {
                return Err("it does not work".into());
            }
            self.texts.lock().unwrap().1.extend_from_slice(texts);
            if !self.is_silent.load(Ordering::Relaxed) {
                self.changed.send_replace(());
            }
            Ok(())
        })
    }

    fn receive<'a>(&'a self, after: Option<&'a str>) -> StoreFuture<'a, RelayedTexts> {
        Box::pin(async move {
            let mut changed = self.changed.subscribe();
            loop {
                let received = self.read(after);
                let is_new = received
                    .texts
                    .as_ref()
                    .is_none_or(|texts| !texts.is_empty());
                if is_new || after.is_none() {
                    return Ok(received);
                }
                changed.changed().await?;
            }
        })
    }
}

/// Starts an instance and waits until it knows its position in the log.
async fn serve(log: &Arc<Log>) -> Served {
    serve_with(log, Backend::new()).await
}

async fn serve_with(log: &Arc<Log>, backend: Backend) -> Served {
    let before = log.changed.receiver_count();
    let backend = backend.notifications(Arc::<Log>::clone(log));
    let instance = fixture::server().backend(backend).http(HttpOptions::new());
    let served = serve_server(instance).await;
    until(async || log.changed.receiver_count() > before).await;
    served
}

/// Opens a stream for an older client that subscribes to the resource.
async fn legacy_stream(served: &Served) -> Response {
    let session = subscribed_session(served).await;
    served.send(&on_session("GET", &session)).await
}

/// Returns the session of an older client that subscribes to the resource.
async fn subscribed_session(served: &Served) -> String {
    let version = Version::V2025_11_25;
    let session = served.session(version).await;
    let follow =
        json!({"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": URI}});
    let (status, _) = served
        .message(&Request::legacy(&session, &follow, version))
        .await;
    assert_eq!(status, 200);
    session
}

/// Opens a stream for a modern client that subscribes to the resource and to the list of tools.
async fn modern_stream(served: &Served) -> Response {
    let filter =
        json!({"notifications": {"toolsListChanged": true, "resourceSubscriptions": [URI]}});
    let listen = Request::modern(1, "subscriptions/listen", filter);
    let mut stream = served.send(&listen).await;
    let first = next_in_time(&mut stream).await;
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    stream
}

fn is_about_resource(message: &Value) -> bool {
    message["params"]["uri"] == URI
}

#[tokio::test]
async fn a_custom_relay_follows_the_rules() {
    Backend::new().notifications(Log::new()).check().await;
}

// Covers: RES-08
#[tokio::test]
async fn a_change_at_one_instance_notifies_the_clients_of_all_instances() {
    let log = Log::new();
    let (one, other) = (serve(&log).await, serve(&log).await);
    let mut streams = [legacy_stream(&other).await, modern_stream(&other).await];
    let mut own = modern_stream(&one).await;
    one.handle.notify().resource_updated(URI);
    for stream in streams.iter_mut().chain([&mut own]) {
        let told = next_in_time(stream).await;
        assert!(is_about_resource(&told), "{told}");
    }
    one.handle.notify().tools_changed();
    for stream in streams.iter_mut().chain([&mut own]) {
        let told = next_in_time(stream).await;
        assert_eq!(told["method"], "notifications/tools/list_changed");
    }
    // An instance is not notified of its own changes again: the next change is the other instance's.
    other.handle.notify().resource_updated(URI);
    let told = next_in_time(&mut own).await;
    assert!(is_about_resource(&told), "{told}");
}

#[tokio::test]
async fn changes_wait_for_a_failing_relay_and_a_lost_log_notifies_everything() {
    let log = Log::new();
    let (one, other) = (serve(&log).await, serve(&log).await);
    let mut streams = [legacy_stream(&other).await, modern_stream(&other).await];
    log.fails.store(true, Ordering::Relaxed);
    one.handle.notify().resource_updated(URI);
    log.fails.store(false, Ordering::Relaxed);
    for stream in &mut streams {
        let told = next_in_time(stream).await;
        assert!(is_about_resource(&told), "{told}");
    }
    log.lose();
    for stream in &mut streams {
        let mut methods = Vec::new();
        while methods
            .last()
            .is_none_or(|method| method != "notifications/resources/updated")
        {
            let told = next_in_time(stream).await;
            methods.push(told["method"].as_str().unwrap().to_owned());
        }
        assert!(
            methods.contains(&"notifications/tools/list_changed".to_owned()),
            "{methods:?}"
        );
    }
}

// Covers: LHTTP-08
#[tokio::test]
async fn a_moved_session_is_notified_of_changes_missing_from_the_log() {
    for fails in [true, false] {
        let sessions = Arc::new(MemorySessions::new(&Limits::default()));
        let backend = || Backend::new().sessions(Arc::<MemorySessions>::clone(&sessions));
        let log = Log::new();
        let one = serve_with(&log, backend()).await;
        let other = serve_with(&log, backend()).await;
        let session = subscribed_session(&one).await;
        log.fails.store(fails, Ordering::Relaxed);
        log.is_silent.store(!fails, Ordering::Relaxed);
        // The other instance does not know the session yet.
        other.handle.notify().resource_updated(URI);
        if !fails {
            until(async || !log.texts.lock().unwrap().1.is_empty()).await;
        }
        let mut stream = other.send(&on_session("GET", &session)).await;
        let told = next_in_time(&mut stream).await;
        assert!(is_about_resource(&told), "{told}");
        log.fails.store(false, Ordering::Relaxed);
        log.is_silent.store(false, Ordering::Relaxed);
        one.handle.notify().tools_changed();
        let told = next_in_time(&mut stream).await;
        assert_eq!(told["method"], "notifications/tools/list_changed");
    }
}
