//! `--legacy-sse`: the HTTP+SSE transport of 2024-11-05, only on request.

use std::process::Command;

use tests::Version;
use tests::http::{Request, send};
use tests::process::binary;
use tests::run::Logged;

/// Starts the example with these options; returns the status of a request that opens the stream of 2024-11-05, and
/// `true` if its response is an event stream.
async fn open_stream(options: &[&str]) -> (u16, bool) {
    let mut command = Command::new(binary("guide"));
    command.args(options);
    let mut process = Logged::start(command);
    let address = process.address().await;
    let request = Request::new("GET", Version::V2024_11_05).to("/sse");
    let response = send(address, &request).await;
    (response.status, response.is_events())
}

#[tokio::test]
async fn the_stream_of_2024_is_served_only_on_request() {
    let http = ["--http", "127.0.0.1:0"];
    assert_eq!(
        open_stream(&[&http[..], &["--legacy-sse"]].concat()).await,
        (200, true)
    );
    let (status, is_events) = open_stream(&http).await;
    assert!(status == 404 && !is_events, "{status}");
}
