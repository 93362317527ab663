//! Measures the time for one request of each kind over the in-memory transport, in protocol version 2026-07-28.
//!
//! Nearly all of the cost of a ping is that of the transport. The difference between another request and a ping is
//! therefore the cost of handling that request.

use std::hint::black_box;

use benches::client::{self, Era, Question};
use criterion::{Criterion, criterion_group, criterion_main};
use mcp_runtime::dynamic::{Arguments, DynamicTool};
use mcp_runtime::prelude::*;
use mcp_runtime::serde_json::{self, Value};
use mcp_runtime::transport::memory;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};

/// Adds two integers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a.wrapping_add(b)
}

/// Says what it was told.
#[tool]
fn echo(text: String) -> String {
    text
}

/// The form that the user is asked to fill in.
#[derive(Elicit)]
struct Choice {
    which: String,
}

/// Asks before it answers.
#[tool]
async fn ask(context: &Context) -> Result<String> {
    let choice: Choice = context.elicit("Which?").await?;
    Ok(choice.which)
}

/// A page of a book.
#[resource_template("book://{shelf}/{title}/pages/{number}")]
fn book(shelf: &str, title: &str, number: u32) -> String {
    format!("{shelf}, {title}, {number}")
}

/// Finds a word.
#[prompt]
fn find(#[complete(words)] word: String) -> String {
    word
}

/// A hundred thousand words.
#[completer]
fn words(_partial: &str) -> Vec<String> {
    (0..100_000)
        .map(|number| format!("word-{number:06}-of-many"))
        .collect()
}

/// The client's side of a pipe.
struct Client {
    pipe: BufReader<DuplexStream>,
    line: String,
}

impl Client {
    async fn ask(&mut self, request: &str) {
        let sent = self.pipe.get_mut().write_all(request.as_bytes()).await;
        sent.expect("the server reads");
        self.line.clear();
        let received = self.pipe.read_line(&mut self.line).await;
        assert!(received.is_ok_and(|length| length > 0), "the server left");
        let answer = black_box(&self.line);
        assert!(answer.contains("\"result\""), "{answer}");
    }
}

/// Returns a request with the given `params` from a client that supports elicitation.
fn request(method: &str, params: &Value) -> String {
    let mut request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    request["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
    });
    format!("{request}\n")
}

fn requests(criterion: &mut Criterion) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().build().expect("a runtime");
    let server = new_server!();
    let schema: Value = serde_json::from_str(client::SCHEMA).expect("JSON");
    let filled = server.handle().tools().edit(|batch| {
        for number in 0..1000 {
            let run = async |arguments: Arguments, _: Context| arguments.get::<String>("key");
            let tool = DynamicTool::new(client::name(number), schema.clone(), run);
            batch.insert(tool.description(client::DESCRIPTION));
        }
    });
    filled.expect("their names differ");
    let (transport, pipe) = memory();
    let task = runtime.spawn(server.serve(transport));
    let mut client = Client {
        pipe: BufReader::with_capacity(1 << 20, pipe),
        line: String::new(),
    };

    let question = json!({ "name": "ask", "arguments": {} });
    let asks = request("tools/call", &question);
    runtime.block_on(client.ask(&asks));
    let asked: Value = serde_json::from_str(&client.line).expect("JSON");
    let mut answered = question;
    answered["requestState"] = asked["result"]["requestState"].clone();
    for key in asked["result"]["inputRequests"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|it| it.0)
    {
        answered["inputResponses"][key] =
            json!({ "action": "accept", "content": { "value": "this" } });
    }
    let line = |question: Question| question.request(Era::Modern, 1) + "\n";
    let page = json!({ "uri": "book://a/b/pages/7" });
    let word = json!({
        "ref": { "type": "ref/prompt", "name": "find" },
        "argument": { "name": "word", "value": "word-0777" },
    });
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.to_owned() + "\n";
    let mut group = criterion.benchmark_group("requests");
    for (name, request) in [
        ("ping", ping),
        ("call", line(Question::Add("add".into()))),
        (
            "echo of 64 KiB",
            line(Question::Echo(client::text(64 << 10, true))),
        ),
        ("list of 1,000 tools", line(Question::List)),
        ("read by a template", request("resources/read", &page)),
        (
            "completion among 100,000",
            request("completion/complete", &word),
        ),
        ("call that asks, which seals", asks),
        (
            "its next round, which opens",
            request("tools/call", &answered),
        ),
    ] {
        group.bench_function(name, |bencher| {
            bencher.iter(|| runtime.block_on(client.ask(&request)));
        });
    }
    group.finish();
    drop(client);
    let ended = runtime.block_on(task).expect("the server does not panic");
    ended.expect("the server serves");
}

criterion_group!(benches, requests);
criterion_main!(benches);
