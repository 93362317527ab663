//! A whole session in memory, in each era: whatever lines arrive, every server message follows the official schema of
//! its protocol version, no request is answered twice, and the last one is answered. Input: lines, which are sent
//! unchanged, except that `method {…}` becomes a request with these parameters, in the era's form.
#![no_main]

#[path = "session/judge.rs"]
mod judge;
#[path = "../../tests/src/schema.rs"]
mod schema;
#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../../tests/src/version.rs"]
mod version;

use judge::Sent;
use libfuzzer_sys::fuzz_target;
use mcp_runtime::Limits;
use mcp_runtime::prelude::*;
use mcp_runtime::transport::memory;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::runtime::{Builder, Runtime};
use version::Version;

/// Adds.
#[tool]
fn add(a: i64, #[arg(range(0..=9), default = 1)] b: u8) -> i64 {
    a.saturating_add(b.into())
}

/// Repeats.
#[tool]
async fn repeat(ctx: Context, text: &str, times: Option<u8>) -> String {
    let times = times.unwrap_or(3);
    for done in 0..times {
        ctx.progress((done, times));
        tokio::task::yield_now().await;
    }
    text.repeat(times.into())
}

#[derive(Elicit)]
struct Name {
    #[arg(length(1..=20))]
    name: String,
    sure: bool,
}

/// Asks.
#[tool]
async fn ask(ctx: Context) -> Result<String> {
    let Name { name, sure } = ctx.elicit("Who are you?").await?;
    let roots = ctx.roots().await?.len();
    Ok(format!("{name} {sure} {roots}"))
}

/// Waits.
#[tool]
async fn wait(seconds: u8) {
    tokio::time::sleep(std::time::Duration::from_secs(seconds.into())).await;
}

/// Fails.
#[tool]
fn fail(shown: bool) -> Result<()> {
    if shown {
        bail!("as you wish");
    }
    Err(std::io::Error::other("secret").into())
}

/// Words it might be.
#[completer]
fn words(part: &str) -> Vec<String> {
    vec![format!("{part}a"), "alpha".into(), "beta".into()]
}

/// Reviews.
#[prompt]
fn review(#[complete(words)] code: &str, level: Option<u8>) -> String {
    format!("{code} {level:?}")
}

/// Stays.
#[resource("test://static")]
fn static_text() -> &'static str {
    "text"
}

/// An item.
#[resource_template("item:///{group}/{id}{?page}")]
fn item(group: &str, id: u32, page: Option<u8>) -> String {
    format!("{group} {id} {page:?}")
}

/// Returns limits that small inputs can reach.
fn limits() -> Limits {
    Limits::default().with(|limits| {
        limits.message.max_line_bytes = 4 << 10;
        limits.message.max_depth = 16;
        limits.message.max_values = 256;
        limits.message.max_batch = 4;
        limits.calls.max_running = 2;
        limits.calls.max_queued = 2;
        limits.streams.max_subscriptions = 2;
        limits.streams.max_listens = 2;
        limits.elicitation.max_rounds = 2;
        limits.calls.max_result_bytes = 1 << 10;
        limits.streams.max_outgoing_bytes = 2 << 10;
    })
}

#[derive(Clone, Copy, PartialEq)]
enum Era {
    Legacy,
    Modern,
}

impl Era {
    /// Returns a client's first messages.
    fn greeting(self, date: &str) -> String {
        match self {
            Self::Modern => String::new(),
            Self::Legacy => format!(
                concat!(
                    r#"{{"jsonrpc":"2.0","id":"first","method":"initialize","params":{{"protocolVersion":"{}","#,
                    r#""capabilities":{{"elicitation":{{}},"sampling":{{}},"roots":{{}}}},"#,
                    r#""clientInfo":{{"name":"fuzz","version":"1"}}}}}}"#,
                    "\n",
                    r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#,
                    "\n"
                ),
                date
            ),
        }
    }

    /// Returns a request. `params` is the text of an object, or of anything else.
    fn request(self, id: &str, method: &str, params: &str) -> String {
        let params = match (self, params.strip_prefix('{')) {
            (Self::Legacy, _) | (_, None) => params.to_owned(),
            (Self::Modern, Some(members)) => {
                let comma = if members.trim_ascii_start().starts_with('}') {
                    ""
                } else {
                    ","
                };
                format!(
                    concat!(
                        r#"{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
                        r#""io.modelcontextprotocol/clientCapabilities":{{"elicitation":{{}},"roots":{{}}}},"#,
                        r#""progressToken":1}}{}{}"#
                    ),
                    comma, members
                )
            }
        };
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
    }

    /// Returns a request that is answered immediately, whatever preceded it.
    fn last(self) -> String {
        match self {
            Self::Legacy => self.request(r#""last""#, "ping", "{}"),
            Self::Modern => self.request(r#""last""#, "server/discover", "{}"),
        }
    }
}

thread_local! {
    /// Its clock stands still while there is work, and jumps ahead when there is none.
    static RUNTIME: Runtime = {
        let mut builder = Builder::new_current_thread();
        builder.enable_time().start_paused(true).build().expect("memory is all it takes")
    };
}

fuzz_target!(|data: &[u8]| {
    let session = match data.first() {
        Some(b' ') => Version::V2025_03_26,
        Some(b'\t') => Version::V2024_11_05,
        Some(b'\r') => Version::V2025_06_18,
        _ => Version::V2025_11_25,
    };
    for era in [Era::Legacy, Era::Modern] {
        let mut sent = era.greeting(session.date()).into_bytes();
        for (id, line) in data.split(|byte| *byte == b'\n').enumerate() {
            match str::from_utf8(line)
                .ok()
                .and_then(|line| line.split_once(' '))
            {
                Some((method, params))
                    if method.starts_with(|first: char| first.is_ascii_lowercase()) =>
                {
                    sent.extend(era.request(&id.to_string(), method, params).into_bytes());
                }
                _ => sent.extend(line),
            }
            sent.push(b'\n');
        }
        sent.extend(era.last().into_bytes());
        sent.push(b'\n');
        let received = RUNTIME.with(|runtime| runtime.block_on(converse(&sent)));
        Sent::new(&sent, (era == Era::Legacy).then_some(session)).judge(&received);
    }
});

/// Returns everything that the server writes in response.
async fn converse(sent: &[u8]) -> String {
    let (transport, stream) = memory();
    let server = Server::new("fuzz", "1").limits(limits()).serve(transport);
    let (mut reader, mut writer) = tokio::io::split(stream);
    let write = async {
        // A server may stop reading; its output up to that point is still judged.
        let _ = writer.write_all(sent).await;
        let _ = writer.shutdown().await;
    };
    let mut received = Vec::new();
    let (served, (), read) = tokio::join!(server, write, reader.read_to_end(&mut received));
    served.expect("the server ends well");
    read.expect("memory can be read");
    String::from_utf8(received).expect("the server writes UTF-8")
}
