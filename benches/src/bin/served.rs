//! The server to measure, which serves a few tools over standard input and output or over HTTP.
//!
//! Usage: `served (stdio|http) [--tools N] [--skills N] [--tasks N] [--threads N]`. `--tools` adds N tools, and
//! `--skills` adds N skills of two files each. `--tasks` adds two tools whose calls can be tasks, which are kept in
//! memory, and lets N of them run. `--threads` uses a runtime with N threads; the default is a runtime that uses only
//! the main thread. Over HTTP, the server writes its address to the first line of standard output and stops at the end
//! of its standard input.

use std::io::Write as _;
use std::time::{Duration, Instant};

use benches::client;
use benches::data::{Order, PAGE, PICTURE, ROWS, Row};
use mcp_runtime::dynamic::{Arguments, DynamicTool};
use mcp_runtime::prelude::*;
use mcp_runtime::skills::{Skill, Skills};
use mcp_runtime::tasks::TaskOptions;
use mcp_runtime::transport::Stdio;
use mcp_runtime::{Error, Limits, serde_json};

/// Adds two integers.
#[tool]
async fn add(a: i64, b: i64) -> i64 {
    a.wrapping_add(b)
}

/// Adds two integers, without a future.
#[tool]
fn add_sync(a: i64, b: i64) -> i64 {
    a.wrapping_add(b)
}

/// Adds two integers, and takes a context.
#[tool]
async fn add_context(_context: &Context, a: i64, b: i64) -> i64 {
    a.wrapping_add(b)
}

/// Adds two integers after others had their turn.
#[tool]
async fn add_later(a: i64, b: i64) -> i64 {
    tokio::task::yield_now().await;
    a.wrapping_add(b)
}

/// Adds two integers, and is busy for a millisecond.
#[tool]
async fn add_busy(a: i64, b: i64) -> i64 {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(1) {
        std::hint::spin_loop();
    }
    a.wrapping_add(b)
}

/// Adds two integers, and blocks its thread for 1.5 s, as no handler should.
#[tool]
async fn add_blocking(a: i64, b: i64) -> i64 {
    std::thread::sleep(Duration::from_millis(1500));
    a.wrapping_add(b)
}

/// Says what it was told.
#[tool]
async fn echo(text: String) -> String {
    text
}

/// Returns a thousand rows of a table.
#[tool]
async fn rows() -> Json<&'static Vec<Row>> {
    Json(&ROWS)
}

/// Counts the urgent orders.
#[tool]
async fn urgent(orders: Vec<Order>) -> usize {
    orders.iter().filter(|order| order.is_urgent()).count()
}

/// A long text.
#[resource("bench://page")]
async fn page() -> &'static str {
    &PAGE
}

/// A large file.
#[resource("bench://picture")]
async fn picture() -> &'static [u8] {
    &PICTURE
}

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let over_http = arguments.next().as_deref() == Some("http");
    let (mut tools, mut skills, mut tasks, mut threads) = (0, 0, None, 0);
    while let (Some(option), Some(number)) = (arguments.next(), arguments.next()) {
        let number: usize = number.parse().expect("a number");
        match &*option {
            "--tools" => tools = number,
            "--skills" => skills = number,
            "--tasks" => tasks = Some(number),
            _ => threads = number,
        }
    }
    let mut builder = match threads {
        0 => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = builder
        .enable_all()
        .worker_threads(threads.max(1))
        .build()?;
    runtime.block_on(async move {
        let mut server = new_server!();
        insert(&server, tools)?;
        if let Some(running) = tasks {
            insert_tasks(&server)?;
            server = server.limits(Limits::default().with(|limits| {
                limits.tasks.max_running = running;
                limits.tasks.max_tasks = usize::MAX;
                limits.tasks.max_per_caller = usize::MAX;
                limits.tasks.max_bytes = usize::MAX;
                limits.tasks.max_bytes_per_caller = usize::MAX;
            }));
        }
        if skills > 0 {
            server = server.with((0..skills).map(skill).fold(Skills::new(), Skills::skill));
        }
        if !over_http {
            return server.serve(Stdio::open()?).await;
        }
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        writeln!(std::io::stdout(), "{}", listener.local_addr()?)?;
        let handle = server.handle();
        let stopping = std::thread::spawn(move || {
            let ended = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            handle.shut_down();
            ended
        });
        server.serve_http_listener(listener).await?;
        // Joining the thread drops its handle in every run. Dropping the handle's thousand tools costs as much as
        // listing them a hundred times, so the measurements would differ if it happened only in some runs.
        stopping.join().expect("it does not panic")?;
        Ok(())
    })
}

/// Returns one of many skills.
fn skill(number: usize) -> Skill {
    let (path, text) = client::skill(number);
    Skill::new(path, text).file("references/keys.md", "All keys.")
}

/// Adds the given number of tools.
fn insert(server: &Server, tools: usize) -> Result<(), Error> {
    let schema: serde_json::Value = serde_json::from_str(client::SCHEMA).expect("JSON");
    server.handle().tools().edit(|batch| {
        for number in 0..tools {
            let run = async |arguments: Arguments, _: Context| arguments.get::<String>("key");
            let tool = DynamicTool::new(client::name(number), schema.clone(), run);
            batch.insert(tool.description(client::DESCRIPTION));
        }
    })?;
    Ok(())
}

/// Adds a tool that adds two integers, and one that never ends. Calls to both can be tasks.
fn insert_tasks(server: &Server) -> Result<(), Error> {
    let integer = serde_json::json!({"type": "integer"});
    let schema = serde_json::json!({
        "type": "object", "properties": {"a": integer, "b": integer}, "required": ["a", "b"],
    });
    let sum = async |arguments: Arguments, _: Context| {
        let (a, b) = (arguments.get::<i64>("a")?, arguments.get::<i64>("b")?);
        Ok::<_, HandlerError>(a.wrapping_add(b))
    };
    let wait = async |_: Arguments, _: Context| -> Result<i64> { std::future::pending().await };
    server.handle().tools().edit(|batch| {
        let add = DynamicTool::new("add_task", schema.clone(), sum);
        batch.insert(add.task(TaskOptions::new()));
        let wait = DynamicTool::new("wait_task", schema.clone(), wait);
        batch.insert(wait.task(TaskOptions::new()));
        batch.insert(DynamicTool::new("add_dynamic", schema.clone(), sum));
    })?;
    Ok(())
}
