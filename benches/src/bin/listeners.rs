//! Opens `subscriptions/listen` streams over HTTP, changes the list of tools, and reports how long it takes until the
//! last listener has received its notification.
//!
//! Usage: `listeners [NUMBER…]`; the default is 1,000, 5,000 and 10,000 listeners. Each number is measured first on a
//! server with one thread, then on a server with one thread per processor. The server is another process of this
//! program. A round starts before the client sends the call that changes the list; the client then reads the
//! notifications one after the other, which is the fastest way to read them. Fails if a notification is missing or
//! meant for another listener.

use std::io::{Error, Write as _};
use std::time::{Duration, Instant};

use benches::connection::{Connection, with_server};
use benches::process::processor_time;
use mcp_runtime::Limits;
use mcp_runtime::prelude::*;
use tokio::net::TcpListener;
use tokio::runtime::Builder;

/// The number of times that the list is changed.
const ROUNDS: u32 = 11;

const META: &str = concat!(
    r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
    r#""io.modelcontextprotocol/clientInfo":{"name":"listeners","version":"1"},"#,
    r#""io.modelcontextprotocol/clientCapabilities":{}}"#
);

/// A tool that comes and goes.
#[tool]
fn spare() -> bool {
    true
}

/// Changes the list of tools.
#[tool]
fn toggle(context: &Context) -> bool {
    let tools = context.server().tools();
    tools.disable("spare") || tools.enable("spare")
}

fn main() -> Result<(), Error> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    if let [mode, kind] = &arguments[..]
        && mode == "serve"
    {
        return serve(kind == "one thread");
    }
    let numbers = arguments.iter().map(|number| number.parse());
    let mut numbers = numbers
        .collect::<Result<Vec<u32>, _>>()
        .map_err(Error::other)?;
    if numbers.is_empty() {
        numbers = vec![1_000, 5_000, 10_000];
    }
    for threads in ["one thread", "all threads"] {
        for &number in &numbers {
            with_server(&["serve", threads], |address, server| {
                measure(number, threads, address, server)
            })?;
        }
    }
    Ok(())
}

fn serve(alone: bool) -> Result<(), Error> {
    let limits = Limits::default().with(|limits| {
        limits.http.max_connections = 1_000_000;
        limits.streams.max_open = 1_000_000;
    });
    let mut builder = if alone {
        Builder::new_current_thread()
    } else {
        Builder::new_multi_thread()
    };
    builder.enable_all().build()?.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        writeln!(std::io::stderr(), "{}", listener.local_addr()?)?;
        let served = new_server!().limits(limits).serve_http_listener(listener);
        served.await.map_err(Error::other)
    })
}

fn measure(number: u32, threads: &str, address: &str, server: u32) -> Result<(), Error> {
    let mut listeners = (0..number)
        .map(|id| listen(address, id))
        .collect::<Result<Vec<_>, _>>()?;
    let mut changing = Connection::open(address)?;
    let mut taken = Vec::new();
    let before = processor_time(server)?;
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{{"name":"toggle","arguments":{{}},{META}}}}}"#
        );
        let answer = changing.post(&fields("tools/call", &[("Mcp-Name", "toggle")]), &call)?;
        if !answer.body.contains(r#""text":"true""#) {
            return Err(Error::other(format!("not an answer: {}", answer.body)));
        }
        for (id, listener) in listeners.iter_mut().enumerate() {
            let notification = listener.event()?;
            check(&notification, "notifications/tools/list_changed", id)?;
        }
        taken.push(begun.elapsed());
        // The pause keeps work that is left over from this round from affecting the next one.
        std::thread::sleep(Duration::from_millis(200));
    }
    let used = processor_time(server)?.saturating_sub(before);
    let each = used.as_secs_f64() * 1e6 / f64::from(number) / f64::from(ROUNDS);
    taken.sort_unstable();
    let milliseconds = taken.iter().map(|taken| taken.as_secs_f64() * 1e3);
    let taken: Vec<_> = milliseconds.collect();
    writeln!(
        std::io::stdout(),
        "{number} listeners, {threads}: {:.1} ms in the middle, {:.1} ms at least, {each:.1} µs of processor a notification",
        taken[taken.len() / 2],
        taken[0],
    )
}

/// Opens a stream and waits for its acknowledgement.
fn listen(address: &str, id: u32) -> Result<Connection, Error> {
    let mut connection = Connection::open(address)?;
    let filter = r#""notifications":{"toolsListChanged":true}"#;
    let request = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{{{filter},{META}}}}}"#
    );
    connection.send("POST", &fields("subscriptions/listen", &[]), &request)?;
    connection.head()?;
    let first = connection.event()?;
    check(
        &first,
        "notifications/subscriptions/acknowledged",
        id as usize,
    )?;
    Ok(connection)
}

/// Returns the headers of a request.
fn fields<'f>(method: &'f str, more: &[(&'f str, &'f str)]) -> Vec<(&'f str, &'f str)> {
    let mut fields = vec![
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", method),
    ];
    fields.extend_from_slice(more);
    fields
}

/// Checks that a notification has the given method and is meant for the listener with the given id.
fn check(message: &str, method: &str, id: usize) -> Result<(), Error> {
    let subscription = format!(r#""io.modelcontextprotocol/subscriptionId":{id}}}"#);
    if message.contains(method) && message.contains(&subscription) {
        return Ok(());
    }
    Err(Error::other(format!("not for listener {id}: {message}")))
}
