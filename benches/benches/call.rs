//! 64 calls of a tool of two integers through the in-memory transport, beside a loop written by hand for this one tool over
//! the same pipe.

use std::hint::black_box;

use benches::{Era, answered};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mcp_runtime::prelude::*;
use mcp_runtime::transport::memory;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::runtime::Runtime;

/// Calls in flight.
const DEPTH: u64 = 64;

/// Adds two integers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a.wrapping_add(b)
}

/// The client's side of a pipe, after the greeting.
struct Client {
    pipe: BufReader<DuplexStream>,
    line: String,
}

impl Client {
    async fn new(era: Era, pipe: DuplexStream) -> Self {
        let mut client = Self {
            pipe: BufReader::new(pipe),
            line: String::new(),
        };
        client.send(era.greeting()).await;
        if !era.greeting().is_empty() {
            client.receive().await;
        }
        client
    }

    async fn send(&mut self, lines: &str) {
        let sent = self.pipe.write_all(lines.as_bytes()).await;
        sent.expect("the server reads");
    }

    async fn receive(&mut self) {
        self.line.clear();
        let received = self.pipe.read_line(&mut self.line).await;
        assert!(received.is_ok_and(|length| length > 0), "the server left");
    }

    async fn calls(&mut self, lines: &str) {
        self.send(lines).await;
        for _ in 0..DEPTH {
            self.receive().await;
            assert!(answered(black_box(&self.line)).is_some(), "{}", self.line);
        }
    }
}

/// What the loop by hand reads of a message.
mod hand {
    use mcp_runtime::serde_json::{self, value::RawValue};
    use mcp_runtime::{data, serde};

    #[data(input)]
    pub(super) struct Arguments {
        pub(super) a: i64,
        pub(super) b: i64,
    }

    #[derive(serde::Deserialize)]
    #[serde(crate = "serde")]
    pub(super) struct Params<'a> {
        pub(super) name: &'a str,
        pub(super) arguments: Arguments,
    }

    #[derive(serde::Deserialize)]
    #[serde(crate = "serde")]
    pub(super) struct Message<'a> {
        #[serde(borrow)]
        pub(super) id: Option<&'a RawValue>,
        pub(super) method: &'a str,
        #[serde(borrow)]
        pub(super) params: Option<&'a RawValue>,
    }

    pub(super) fn read(line: &str) -> Option<(Message<'_>, Option<Params<'_>>)> {
        let message: Message<'_> = serde_json::from_str(line).ok()?;
        let params = message
            .params
            .filter(|_| message.method == "tools/call")
            .and_then(|params| serde_json::from_str(params.get()).ok());
        Some((message, params))
    }
}

/// The loop by hand: no other tool, no other method, no limits, nothing checked that it does not need.
async fn by_hand(pipe: DuplexStream, era: Era) {
    let mut pipe = BufReader::new(pipe);
    let mut line = String::new();
    let mut out = String::new();
    while pipe.read_line(&mut line).await.is_ok_and(|read| read > 0) {
        if let Some((message, params)) = hand::read(&line)
            && let Some(id) = message.id
        {
            use std::fmt::Write as _;
            let id = id.get();
            let written = match params {
                Some(params) if params.name == "add" => {
                    let sum = params.arguments.a.wrapping_add(params.arguments.b);
                    let rest = match era {
                        Era::Legacy => "",
                        Era::Modern => {
                            r#","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"benches","version":"0.1.0"}},"resultType":"complete""#
                        }
                    };
                    writeln!(
                        out,
                        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{sum}"}}]{rest}}}}}"#
                    )
                }
                _ => writeln!(out, r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#),
            };
            written.expect("strings take everything");
        }
        line.clear();
        // Answers go out together while there is more to read.
        if pipe.buffer().is_empty() {
            if pipe.write_all(out.as_bytes()).await.is_err() {
                return;
            }
            out.clear();
        }
    }
}

fn calls(criterion: &mut Criterion) {
    let runtime: Runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    let mut group = criterion.benchmark_group("64 calls");
    group.throughput(Throughput::Elements(DEPTH));
    for (name, era) in [("legacy", Era::Legacy), ("modern", Era::Modern)] {
        let lines: String = (0..DEPTH).map(|id| era.call(id)).collect();

        let (transport, pipe) = memory();
        let server = runtime.spawn(new_server!().serve(transport));
        let mut client = runtime.block_on(Client::new(era, pipe));
        group.bench_function(format!("{name}, served"), |bencher| {
            bencher.iter(|| runtime.block_on(client.calls(&lines)));
        });
        drop(client);
        let ended = runtime.block_on(server).expect("the server does not panic");
        ended.expect("the server serves");

        let (theirs, pipe) = tokio::io::duplex(64 << 10);
        let server = runtime.spawn(by_hand(theirs, era));
        let mut client = runtime.block_on(Client::new(era, pipe));
        group.bench_function(format!("{name}, by hand"), |bencher| {
            bencher.iter(|| runtime.block_on(client.calls(&lines)));
        });
        drop(client);
        runtime.block_on(server).expect("the loop does not panic");
    }
    group.finish();
}

criterion_group!(benches, calls);
criterion_main!(benches);
