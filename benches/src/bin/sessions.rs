//! Opens sessions over HTTP and reports how much memory each of them uses: idle, with a connection, with an open GET
//! stream, and idle again after a call.
//!
//! Usage: `sessions [NUMBER]`; the default is 10,000. The server is a separate process of this program, so that only
//! the server's memory is measured, and has a single thread. Resident memory is read from `/proc`, so this requires
//! Linux. Fails if a session is lost.

use std::io::{Error, Write as _};
use std::time::Duration;

use benches::connection::{Connection, with_server};
use benches::process::memory;
use mcp_runtime::Limits;
use mcp_runtime::prelude::*;
use tokio::net::TcpListener;

/// Adds two integers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a.wrapping_add(b)
}

const SESSION: &str = "Mcp-Session-Id";
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{"listChanged":true},"sampling":{},"elicitation":{}},"clientInfo":{"name":"example-desktop","title":"Example Desktop","version":"1.24.3","websiteUrl":"https://example.com"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2}}}"#;

fn main() -> Result<(), Error> {
    match std::env::args().nth(1).as_deref() {
        Some("serve") => serve(),
        Some(number) => measure(number.parse().map_err(Error::other)?),
        None => measure(10_000),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn serve() -> Result<(), Error> {
    let hour = Duration::from_hours(1);
    let limits = Limits::default().with(|limits| {
        limits.sessions.max_sessions = 1_000_000;
        limits.http.max_connections = 1_000_000;
        limits.streams.max_open = 1_000_000;
        limits.sessions.start_timeout = hour;
        limits.sessions.idle_timeout = hour;
        limits.sessions.streaming_idle_timeout = hour;
    });
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    writeln!(std::io::stderr(), "{}", listener.local_addr()?)?;
    let served = new_server!().limits(limits).serve_http_listener(listener);
    served.await.map_err(Error::other)
}

/// Measures two servers, because memory that has been used once is not returned to the system.
fn measure(number: u32) -> Result<(), Error> {
    with_server(&["serve"], |address, server| {
        let (before, sessions) = open(number, address, server)?;
        let mut connections = Vec::new();
        for session in &sessions {
            let mut connection = Connection::open(address)?;
            connection.post(&[(SESSION, session)], PING)?;
            connections.push(connection);
        }
        report("with a connection", number, before, server)?;
        for (connection, session) in connections.iter_mut().zip(&sessions) {
            connection.send("GET", &[(SESSION, session)], "")?;
            let status = connection.head()?.status;
            if status != 200 {
                return Err(Error::other(format!("no stream: {status}")));
            }
        }
        report("with a stream of a GET", number, before, server)
    })?;
    with_server(&["serve"], |address, server| {
        let (before, sessions) = open(number, address, server)?;
        let mut connection = Connection::open(address)?;
        for session in &sessions {
            let answer = connection.post(&[(SESSION, session)], CALL)?;
            if !answer.body.contains(r#""text":"3""#) {
                return Err(Error::other(format!("not an answer: {}", answer.body)));
            }
        }
        report("idle again after a call of each", number, before, server)
    })
}

/// Opens sessions. Returns the server's resident memory before that, and the session ids.
fn open(number: u32, address: &str, server: u32) -> Result<(u32, Vec<String>), Error> {
    let mut connection = Connection::open(address)?;
    // Lets the server allocate all memory that it needs only once, so that it is not attributed to the sessions.
    for _ in 0..100 {
        let session = shake_hands(&mut connection)?;
        connection.post(&[(SESSION, &session)], CALL)?;
    }
    settle();
    let before = memory(server, "VmRSS")?;
    let sessions = (0..number).map(|_| shake_hands(&mut connection));
    let sessions = sessions.collect::<Result<Vec<_>, _>>()?;
    report("idle", number, before, server)?;
    Ok((before, sessions))
}

/// Completes a handshake and returns the id of the session.
fn shake_hands(connection: &mut Connection) -> Result<String, Error> {
    let shaken = connection.post(&[], INITIALIZE)?;
    let session = shaken.session.ok_or_else(|| Error::other(shaken.body))?;
    connection.post(&[(SESSION, &session)], INITIALIZED)?;
    Ok(session)
}

fn report(what: &str, number: u32, before: u32, server: u32) -> Result<(), Error> {
    settle();
    let more = f64::from(memory(server, "VmRSS")?) - f64::from(before);
    let each = more / f64::from(number);
    writeln!(std::io::stdout(), "{what}: {each:.2} KiB a session")
}

/// Waits until the server has dropped the data that it no longer needs.
fn settle() {
    std::thread::sleep(Duration::from_secs(12));
}
