//! Requests that are answered before their bodies have arrived. Clients send the head and the body one after the other,
//! and use the connection again.

use serde_json::json;
use tests::Version;
use tests::http::{Request, connect, response, response_on};
use tokio::io::AsyncWriteExt as _;

use crate::http::support::{Served, initialize, serve, serve_nobody};

/// Sends a head and waits until the server has read it.
async fn send_head(server: &Served, head: &[u8]) -> tokio::net::TcpStream {
    let mut stream = connect(server.address).await;
    stream.write_all(head).await.unwrap();
    // The server runs in this thread, and reads from connections in the order in which bytes arrive.
    for _ in 0..3 {
        let probe = Request::new("GET", Version::V2026_07_28).to("/livez");
        assert_eq!(server.send(&probe).await.status, 200);
    }
    stream
}

/// Returns the head and the body of a request.
fn plain(request: &Request) -> (Vec<u8>, Vec<u8>) {
    (request.head(), request.body.clone())
}

/// Returns the head and the body of a request, with the body as a single chunk.
fn chunked(request: &Request) -> (Vec<u8>, Vec<u8>) {
    let length = request.body.len();
    let head = String::from_utf8(request.head()).unwrap();
    let announced = format!("Content-Length: {length}");
    assert!(head.contains(&announced));
    let head = head.replace(&announced, "Transfer-Encoding: chunked");
    let size = format!("{length:x}\r\n");
    let body = [size.as_bytes(), &request.body, b"\r\n0\r\n\r\n"].concat();
    (head.into_bytes(), body)
}

// Covers: HTTP-01, AUTH-05
#[tokio::test]
async fn a_connection_stays_open_although_the_body_of_a_refused_request_comes_late() {
    let (open, closed) = (serve().await, serve_nobody().await);
    let call = Request::tool("echo", json!({"text": "x"}));
    let legacy = initialize(Version::V2025_11_25);
    let mut put = call.clone();
    put.verb = "PUT";
    for (server, (head, body), status) in [
        (&closed, plain(&call), 401),
        (&closed, plain(&legacy), 401),
        (&closed, chunked(&call), 401),
        (&open, plain(&call.clone().to("/other")), 404),
        (&open, plain(&call.clone().to("/livez")), 405),
        (&open, plain(&put), 405),
        (
            &open,
            plain(&call.clone().with("Origin", "https://evil.com")),
            403,
        ),
        (
            &open,
            plain(&call.clone().with("Content-Type", "text/plain")),
            415,
        ),
        (
            &open,
            chunked(&legacy.clone().with("Content-Type", "text/plain")),
            415,
        ),
        (&open, chunked(&call), 200),
    ] {
        let mut stream = send_head(server, &head).await;
        stream.write_all(&body).await.unwrap();
        let which = String::from_utf8(head).unwrap();
        let mut first = response(stream, &call).await.expect("an answer");
        assert_eq!(first.status, status, "{which}");
        assert_eq!(first.header("connection"), None, "{which}");
        first.text().await;
        let mut stream = first.into_stream();
        let probe = Request::new("GET", Version::V2026_07_28).to("/livez");
        stream.write_all(&probe.head()).await.unwrap();
        let second = response_on(stream, &probe).await;
        let second = second.unwrap_or_else(|| panic!("the connection is open after {which}"));
        assert_eq!(second.status, 200);
    }
}

#[tokio::test]
async fn a_refused_request_without_its_body_closes_the_connection() {
    let server = serve_nobody().await;
    let call = Request::tool("echo", json!({"text": "x"}));
    // A client that waits for `100 Continue` gets the answer at once.
    for request in [call.clone().header("Expect", "100-continue"), call] {
        let stream = send_head(&server, &request.head()).await;
        let refusal = response(stream, &request).await.expect("a refusal");
        assert_eq!(refusal.status, 401);
        assert_eq!(refusal.header("connection"), Some("close"), "{request:?}");
    }
}
