//! A process under an orchestrator: probes while it stops, and messages to systemd.

use serde_json::json;
use tests::Version;
use tests::client::PATIENCE;
use tests::http::{Request, send};
use tokio::net::UnixDatagram;
use tokio::time::timeout;

use crate::http::process::subject::Subject;
use crate::http::support::initialize;
use tests::Directory;

fn ready() -> Request {
    Request::new("GET", Version::V2026_07_28).to("/readyz")
}

// Covers: LIFE-11
#[tokio::test]
async fn after_a_signal_requests_are_served_during_the_shutdown_delay() {
    // The delay is longer than the test.
    let an_hour = [("SHUTDOWN_DELAY", "3600000")];
    for (second, code) in [("TERM", 143), ("INT", 130)] {
        let mut subject = Subject::start_with(&["--http", "127.0.0.1:0"], &an_hour).await;
        assert_eq!(send(subject.address, &ready()).await.status, 200);
        subject.signal("TERM");
        tests::wait::until(async || send(subject.address, &ready()).await.status == 503).await;
        for request in [
            Request::tool("fill", json!({"bytes": 1})),
            initialize(Version::V2025_11_25),
            Request::new("GET", Version::V2026_07_28).to("/livez"),
        ] {
            assert_eq!(send(subject.address, &request).await.status, 200);
        }
        subject.signal(second);
        assert_eq!(subject.ended().await.code(), Some(code));
    }
}

// Covers: LIFE-11
#[tokio::test]
async fn the_server_exits_after_the_shutdown_delay() {
    let short = [("SHUTDOWN_DELAY", "300")];
    let mut subject = Subject::start_with(&["--http", "127.0.0.1:0"], &short).await;
    subject.signal("TERM");
    assert!(subject.ended().await.success());
}

/// Returns the next message to the service manager.
async fn told(socket: &UnixDatagram) -> String {
    let mut bytes = [0; 64];
    let length = timeout(PATIENCE, socket.recv(&mut bytes)).await;
    String::from_utf8(bytes[..length.unwrap().unwrap()].to_vec()).unwrap()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn systemd_is_notified_when_the_server_is_ready_and_when_it_stops() {
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::net::{SocketAddr, UnixDatagram as StdDatagram};

    let directory = Directory::new("systemd", Version::V2026_07_28);
    let path = directory.join("notify");
    let name = format!("mcp-notify-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let hidden = StdDatagram::bind_addr(&address).unwrap();
    hidden.set_nonblocking(true).unwrap();
    for (socket, name) in [
        (UnixDatagram::bind(&path).unwrap(), path.to_str().unwrap()),
        (UnixDatagram::from_std(hidden).unwrap(), &format!("@{name}")),
    ] {
        let variables = [("NOTIFY_SOCKET", name)];
        let mut subject = Subject::start_with(&["--http", "127.0.0.1:0"], &variables).await;
        assert_eq!(told(&socket).await, "READY=1");
        assert_eq!(send(subject.address, &ready()).await.status, 200);
        let early = socket.try_recv(&mut [0; 64]);
        assert!(early.is_err(), "the server does not stop yet");
        subject.signal("TERM");
        assert_eq!(told(&socket).await, "STOPPING=1");
        assert!(subject.ended().await.success());
    }
    // A missing socket does no harm.
    let gone = [("NOTIFY_SOCKET", "/nowhere/notify")];
    let mut subject = Subject::start_with(&["--http", "127.0.0.1:0"], &gone).await;
    assert_eq!(send(subject.address, &ready()).await.status, 200);
    subject.signal("TERM");
    assert!(subject.ended().await.success());
}
