//! Clients that open many sessions, and many listeners at several instances.

use std::io::{Error, Write as _};
use std::time::{Duration, Instant};

use benches::connection::Connection;

const SESSION: &str = "Mcp-Session-Id";
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{"listChanged":true},"sampling":{},"elicitation":{}},"clientInfo":{"name":"example-desktop","title":"Example Desktop","version":"1.24.3","websiteUrl":"https://example.com"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

const META: &str = concat!(
    r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
    r#""io.modelcontextprotocol/clientInfo":{"name":"listeners","version":"1"},"#,
    r#""io.modelcontextprotocol/clientCapabilities":{}}"#
);

/// Opens sessions, each with a complete handshake.
pub(crate) fn open_sessions(number: u32, address: &str) -> Result<(), Error> {
    let mut connection = Connection::open(address)?;
    for _ in 0..number {
        let shaken = connection.post(&[], INITIALIZE)?;
        let session = shaken.session.ok_or_else(|| Error::other(shaken.body))?;
        let accepted = connection.post(&[(SESSION, &session)], INITIALIZED)?;
        if accepted.status != 202 {
            return Err(Error::other(format!(
                "{}: {}",
                accepted.status, accepted.body
            )));
        }
    }
    Ok(())
}

/// Opens streams at each instance and measures how long it takes until a change that the first instance announces has
/// reached all of them. A round starts before the client sends the call that announces the change; the client then
/// reads the notifications one after the other.
pub(crate) fn listen(number: u32, rounds: u32, addresses: &[&str]) -> Result<(), Error> {
    let mut listeners = Vec::new();
    for address in addresses {
        for id in 0..number {
            listeners.push((id, open_stream(address, id)?));
        }
    }
    let first = addresses
        .first()
        .ok_or_else(|| Error::other("no address"))?;
    let mut announcing = Connection::open(first)?;
    for _ in 0..rounds {
        let begun = Instant::now();
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{{"name":"announce","arguments":{{}},{META}}}}}"#
        );
        let answer = announcing.post(&fields("tools/call", &[("Mcp-Name", "announce")]), &call)?;
        if !answer.body.contains(r#""text":"true""#) {
            return Err(Error::other(format!("not an answer: {}", answer.body)));
        }
        for (id, listener) in &mut listeners {
            check(&listener.event()?, "notifications/tools/list_changed", *id)?;
        }
        writeln!(
            std::io::stdout(),
            "{:.1}",
            begun.elapsed().as_secs_f64() * 1e3
        )?;
        // The pause keeps work that is left over from this round from affecting the next one.
        std::thread::sleep(Duration::from_millis(300));
    }
    Ok(())
}

/// Opens a stream and waits for its acknowledgement.
fn open_stream(address: &str, id: u32) -> Result<Connection, Error> {
    let mut connection = Connection::open(address)?;
    let filter = r#""notifications":{"toolsListChanged":true}"#;
    let request = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{{{filter},{META}}}}}"#
    );
    connection.send("POST", &fields("subscriptions/listen", &[]), &request)?;
    connection.head()?;
    check(
        &connection.event()?,
        "notifications/subscriptions/acknowledged",
        id,
    )?;
    Ok(connection)
}

/// Returns the headers of a request.
fn fields<'f>(method: &'f str, more: &[(&'f str, &'f str)]) -> Vec<(&'f str, &'f str)> {
    let version = ("MCP-Protocol-Version", "2026-07-28");
    [&[version, ("Mcp-Method", method)], more].concat()
}

/// Checks that a notification has the given method and is meant for the listener with the given id.
fn check(message: &str, method: &str, id: u32) -> Result<(), Error> {
    let subscription = format!(r#""io.modelcontextprotocol/subscriptionId":{id}}}"#);
    if message.contains(method) && message.contains(&subscription) {
        return Ok(());
    }
    Err(Error::other(format!("not for listener {id}: {message}")))
}
