//! The end of a process that serves over HTTP.
use serde_json::json;
use tests::http::{Request, connect, send, write};
use tokio::net::TcpStream;

use crate::http::process::subject::Subject;

/// Makes handlers block this many of the two workers.
async fn block(subject: &mut Subject, workers: usize) -> Vec<TcpStream> {
    let mut calls = Vec::new();
    for _ in 0..workers {
        let mut stream = connect(subject.address).await;
        write(&mut stream, &Request::tool("block", json!({}))).await;
        subject.says("blocked").await;
        calls.push(stream);
    }
    calls
}

// Covers: LIFE-11
#[tokio::test]
async fn a_signal_ends_a_process_that_serves_over_http() {
    for signal in ["TERM", "INT"] {
        let mut subject = Subject::start().await;
        let answer = send(subject.address, &Request::tool("fill", json!({"bytes": 1}))).await;
        assert_eq!(answer.status, 200);
        let filter = json!({"notifications": {"toolsListChanged": true}});
        let listen = Request::modern(1, "subscriptions/listen", filter);
        let mut listening = send(subject.address, &listen).await;
        listening.next().await.unwrap();
        subject.signal(signal);
        assert_eq!(listening.next().await.unwrap()["id"], 1);
        assert!(subject.ended().await.success());
    }
}

// Covers: LIFE-11
#[tokio::test]
async fn handlers_that_block_some_or_all_workers_do_not_keep_the_process() {
    for workers in [1, 2] {
        let mut subject = Subject::start().await;
        let _calls = block(&mut subject, workers).await;
        subject.signal("TERM");
        assert!(subject.ended().await.success());
    }
}

// Covers: LIFE-11
#[tokio::test]
async fn a_second_signal_ends_the_process_at_once_though_workers_are_blocked() {
    for (second, code) in [("TERM", 143), ("INT", 130)] {
        let mut subject = Subject::start().await;
        let _calls = block(&mut subject, 2).await;
        subject.signal("TERM");
        // A signal sent too soon counts as the same one; long before the time to finish is over, it counts as another.
        while subject.is_running() {
            subject.signal(second);
        }
        assert_eq!(subject.ended().await.code(), Some(code));
    }
}
