//! Opens sessions over HTTP and says how much memory each takes: idle, with a connection, with the stream of a GET open, and
//! idle again after a call.
//!
//! `sessions [NUMBER]`, 10,000 if not said. The server is this program again, on one thread, so that only its memory counts.
//! Resident memory is that of `/proc`, so this needs Linux. Fails if a session is lost.

use std::io::{BufRead, BufReader, Error, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use mcp_runtime::Limits;
use mcp_runtime::prelude::*;
use tokio::net::TcpListener;

/// Adds two integers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a.wrapping_add(b)
}

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
    let limits = Limits {
        sessions: 1_000_000,
        connections: 1_000_000,
        session_start: hour,
        session_idle: hour,
        session_idle_streaming: hour,
        ..Limits::default()
    };
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    writeln!(std::io::stderr(), "{}", listener.local_addr()?)?;
    let served = new_server!().limits(limits).serve_http_listener(listener);
    served.await.map_err(Error::other)
}

/// Measures on two servers, because memory that was needed once is not given back to the system.
fn measure(number: u32) -> Result<(), Error> {
    with_server(|address, server| {
        let (before, sessions) = open(number, address, server)?;
        let mut connections = Vec::new();
        for session in &sessions {
            let mut connection = Connection::open(address)?;
            connection.post(Some(session), PING)?;
            connections.push(connection);
        }
        report("with a connection", number, before, server)?;
        for (connection, session) in connections.iter_mut().zip(&sessions) {
            connection.send("GET", Some(session), "")?;
            if connection.head()?.status != 200 {
                return Err(Error::other("no stream"));
            }
        }
        report("with a stream of a GET", number, before, server)
    })?;
    with_server(|address, server| {
        let (before, sessions) = open(number, address, server)?;
        let mut connection = Connection::open(address)?;
        for session in &sessions {
            let answer = connection.post(Some(session), CALL)?;
            if !answer.body.contains(r#""text":"3""#) {
                return Err(Error::other(format!("not an answer: {}", answer.body)));
            }
        }
        report("idle again after a call of each", number, before, server)
    })
}

/// Starts a server, and stops it.
fn with_server(run: impl FnOnce(&str, u32) -> Result<(), Error>) -> Result<(), Error> {
    let mut server = Command::new(std::env::current_exe()?)
        .arg("serve")
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut address = String::new();
    let output = server.stderr.take();
    let output = output.ok_or_else(|| Error::other("no standard error"))?;
    BufReader::new(output).read_line(&mut address)?;
    let measured = run(address.trim(), server.id());
    server.kill()?;
    server.wait()?;
    measured
}

/// Opens sessions; gives the memory before that too.
fn open(number: u32, address: &str, server: u32) -> Result<(u32, Vec<String>), Error> {
    let mut connection = Connection::open(address)?;
    // What the server needs once and for all is none of a session's.
    for _ in 0..100 {
        let session = connection.session()?;
        connection.post(Some(&session), CALL)?;
    }
    settle();
    let before = resident(server)?;
    let sessions = (0..number).map(|_| connection.session());
    let sessions = sessions.collect::<Result<Vec<_>, _>>()?;
    report("idle", number, before, server)?;
    Ok((before, sessions))
}

fn report(what: &str, number: u32, before: u32, server: u32) -> Result<(), Error> {
    settle();
    let more = f64::from(resident(server)?) - f64::from(before);
    let each = more / f64::from(number);
    writeln!(std::io::stdout(), "{what}: {each:.2} KiB a session")
}

/// Waits until the server has dropped what it needs no longer.
fn settle() {
    std::thread::sleep(Duration::from_secs(12));
}

/// Resident memory of a process, in KiB.
fn resident(process: u32) -> Result<u32, Error> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kib = kib.ok_or_else(|| Error::other("no VmRSS"))?;
    kib.trim().parse().map_err(Error::other)
}

/// A connection of a client.
struct Connection(BufReader<TcpStream>);

struct Answer {
    status: u16,
    session: Option<String>,
    length: usize,
    body: String,
}

impl Connection {
    fn open(address: &str) -> Result<Self, Error> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        // A client needs little for a head.
        Ok(Self(BufReader::with_capacity(1 << 10, stream)))
    }

    /// Shakes hands; gives the id of the session.
    fn session(&mut self) -> Result<String, Error> {
        let shaken = self.post(None, INITIALIZE)?;
        let session = shaken.session.ok_or_else(|| Error::other(shaken.body))?;
        self.post(Some(&session), INITIALIZED)?;
        Ok(session)
    }

    fn post(&mut self, session: Option<&str>, message: &str) -> Result<Answer, Error> {
        self.send("POST", session, message)?;
        let mut answer = self.head()?;
        let mut body = vec![0; answer.length];
        self.0.read_exact(&mut body)?;
        answer.body = String::from_utf8(body).map_err(Error::other)?;
        Ok(answer)
    }

    fn send(&mut self, verb: &str, session: Option<&str>, body: &str) -> Result<(), Error> {
        let session = session.map(|id| format!("Mcp-Session-Id: {id}\r\n"));
        let request = format!(
            "{verb} /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n{}\r\n{body}",
            body.len(),
            session.unwrap_or_default(),
        );
        self.0.get_mut().write_all(request.as_bytes())
    }

    fn head(&mut self) -> Result<Answer, Error> {
        let mut answer = Answer {
            status: 0,
            session: None,
            length: 0,
            body: String::new(),
        };
        loop {
            let mut line = String::new();
            self.0.read_line(&mut line)?;
            let line = line.trim_end();
            if line.is_empty() {
                return Ok(answer);
            }
            match line.split_once(": ") {
                Some(("mcp-session-id", id)) => answer.session = Some(id.to_owned()),
                Some(("content-length", length)) => {
                    answer.length = length.parse().map_err(Error::other)?;
                }
                Some(_) => {}
                None => {
                    let status = line.split(' ').nth(1);
                    answer.status = status.and_then(|status| status.parse().ok()).unwrap_or(0);
                }
            }
        }
    }
}
