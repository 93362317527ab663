//! Measures tasks in an SQLite file: how many are created and finished per second, and what parked tasks cost.
//!
//! Usage: `tasks [PARKED] [FINISHED]`; the defaults are 100,000 and 30,000. Prints a table. The server and its client
//! run in this process, on two threads.

use std::error::Error;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mcp_runtime::Limits;
use mcp_runtime::backend::{
    ClaimExceptions, NewTask, TaskChange, TaskChanged, TaskClaim, TaskCreation, TaskStatus,
    TaskStore as _,
};
use mcp_runtime::prelude::*;
use mcp_runtime::transport::memory;
use mcp_runtime_sqlite::{Sqlite, SqliteOptions};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, split};

type Failure = Box<dyn Error + Send + Sync>;

/// Number of calls in flight, and of tasks written at a time.
const DEPTH: usize = 64;
/// Number of claims timed with few and with many parked tasks.
const CLAIMS: usize = 2_000;
/// Number of alternating rounds in which claims with few and with many parked tasks are timed.
const ROUNDS: usize = 5;
/// A small number of parked tasks.
const FEW: usize = 100;

static FINISHED: AtomicUsize = AtomicUsize::new(0);

/// Adds two integers.
#[tool(task)]
async fn add(a: i64, b: i64) -> i64 {
    FINISHED.fetch_add(1, Ordering::Relaxed);
    a.wrapping_add(b)
}

/// A file that is deleted when this value is dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let name = format!("mcp-bench-{name}-{}.db", std::process::id());
        let scratch = Self(std::env::temp_dir().join(name));
        scratch.remove();
        scratch
    }

    fn remove(&self) {
        for suffix in ["", "-wal", "-shm"] {
            let mut path = self.0.clone().into_os_string();
            path.push(suffix);
            drop(std::fs::remove_file(path));
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.remove();
    }
}

fn limits() -> Limits {
    Limits::default().with(|limits| {
        limits.tasks.max_tasks = usize::MAX;
        limits.tasks.max_per_caller = usize::MAX;
        limits.tasks.max_bytes = usize::MAX;
        limits.tasks.max_bytes_per_caller = usize::MAX;
    })
}

fn open(path: &Path) -> Result<Sqlite, Failure> {
    Ok(SqliteOptions::new().limits(limits()).open(path)?)
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1).map(|number| number.parse());
    let parked: usize = arguments.next().transpose()?.unwrap_or(100_000);
    let finished: usize = arguments.next().transpose()?.unwrap_or(30_000);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut table = String::from("| | |\n|---|---|\n");
        let rate = finish(finished).await?;
        writeln!(table, "| created and finished | {rate:.0} a second |")?;
        let (few, many) = (Scratch::new("few"), Scratch::new("many"));
        park(&open(&few.0)?, FEW).await?;
        park(&open(&many.0)?, parked).await?;
        for (name, scratch) in [(FEW, &few), (parked, &many)] {
            let started = start(&scratch.0).await?;
            writeln!(table, "| start with {name} parked | {started:?} |")?;
        }
        let (few, many) = (open(&few.0)?, open(&many.0)?);
        let (mut of_few, mut of_many) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            claim(&few, &mut of_few).await?;
            claim(&many, &mut of_many).await?;
        }
        let (of_few, of_many) = (median(of_few), median(of_many));
        writeln!(table, "| claim with {FEW} parked | {of_few:?} |")?;
        writeln!(table, "| claim with {parked} parked | {of_many:?} |")?;
        let ratio = of_many.as_secs_f64() / of_few.as_secs_f64();
        writeln!(table, "| ratio | {ratio:.2} |")?;
        std::io::stdout().write_all(table.as_bytes())?;
        Ok(())
    })
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Sends a request and returns the response.
async fn ask(stream: &mut BufReader<DuplexStream>, request: &str) -> Result<String, Failure> {
    stream.get_mut().write_all(request.as_bytes()).await?;
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    Ok(line)
}

fn request(id: usize, method: &str, params: &str) -> String {
    format!(
        concat!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}"_meta":{{"#,
            r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
            r#""io.modelcontextprotocol/clientInfo":{{"name":"bench","version":"1"}},"#,
            r#""io.modelcontextprotocol/clientCapabilities":{{"extensions":{{"io.modelcontextprotocol/tasks":{{}}}}}}}}}}}}"#,
            "\n"
        ),
        id = id,
        method = method,
        params = params
    )
}

/// Returns the number of tasks that are created by calls and finished per second.
async fn finish(number: usize) -> Result<f64, Failure> {
    let scratch = Scratch::new("finished");
    let store = open(&scratch.0)?;
    let (transport, stream) = memory();
    let server = new_server!().limits(limits()).backend(store.clone());
    let handle = server.handle();
    let serving = tokio::spawn(server.serve(transport));
    let (reader, mut writer) = split(stream);
    let mut lines = BufReader::new(reader).lines();
    let begun = Instant::now();
    let in_flight = Arc::new(tokio::sync::Semaphore::new(DEPTH));
    let free = Arc::clone(&in_flight);
    let writing = tokio::spawn(async move {
        for id in 0..number {
            in_flight.acquire().await?.forget();
            let params = format!(r#""name":"add","arguments":{{"a":{id},"b":1}},"#);
            let request = request(id, "tools/call", &params);
            writer.write_all(request.as_bytes()).await?;
        }
        Ok::<_, Failure>(writer)
    });
    for _ in 0..number {
        let line = lines.next_line().await?.ok_or("the server has ended")?;
        if !line.contains("\"resultType\":\"task\"") {
            return Err(line.into());
        }
        free.add_permits(1);
    }
    // The last tasks have run, but the file might not say so yet.
    while FINISHED.load(Ordering::Relaxed) < number || is_working(&store).await? {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let took = begun.elapsed();
    drop(writing.await??);
    handle.shut_down();
    serving.await??;
    #[allow(clippy::cast_precision_loss, reason = "a number of tasks is small")]
    Ok(number as f64 / took.as_secs_f64())
}

/// Returns `true` if any task is still working.
async fn is_working(store: &Sqlite) -> Result<bool, Failure> {
    let far = Duration::from_hours(24);
    // The claim waits if there is a task whose lease has not lapsed.
    let claim = store.claim_due(far, &ClaimExceptions::default()).await?;
    Ok(!matches!(claim, TaskClaim::Wait(None)))
}

/// Adds parked tasks to a file.
async fn park(store: &Sqlite, number: usize) -> Result<(), Failure> {
    let mut parking = tokio::task::JoinSet::new();
    for first in 0..DEPTH {
        let store = store.clone();
        parking.spawn(async move {
            for _ in (first..number).step_by(DEPTH) {
                let task = created(&store, Duration::from_hours(1)).await?;
                let state = r#"{"journal":"{}","open":{"sure":{}}}"#;
                let change = TaskChange::to(TaskStatus::InputRequired).state(state);
                let parked = store.change(&task.id, task.version, change).await?;
                if !matches!(parked, TaskChanged::Changed(_)) {
                    return Err("a task was not parked".into());
                }
            }
            Ok::<_, Failure>(())
        });
    }
    while let Some(parked) = parking.join_next().await {
        parked??;
    }
    Ok(())
}

async fn created(
    store: &Sqlite,
    lease: Duration,
) -> Result<mcp_runtime::backend::StoredTask, Failure> {
    let mut task = NewTask::new("trusted", "add");
    task.call = "x".repeat(400).into();
    task.state = r#"{"journal":"{}"}"#.into();
    task.lease = lease;
    match store.create(task).await? {
        TaskCreation::Created(task) => Ok(task),
        other => Err(format!("{other:?}").into()),
    }
}

/// Returns the time from opening the file to the first response of a server.
async fn start(path: &Path) -> Result<Duration, Failure> {
    let begun = Instant::now();
    let server = new_server!().limits(limits()).backend(open(path)?);
    let handle = server.handle();
    let (transport, stream) = memory();
    let serving = tokio::spawn(server.serve(transport));
    let mut stream = BufReader::new(stream);
    let answer = ask(&mut stream, &request(0, "tools/list", "")).await?;
    let took = begun.elapsed();
    if !answer.contains("\"add\"") {
        return Err(answer.into());
    }
    handle.shut_down();
    serving.await??;
    Ok(took)
}

/// Times claims of due tasks, one after another.
async fn claim(store: &Sqlite, times: &mut Vec<Duration>) -> Result<(), Failure> {
    for _ in 0..CLAIMS / ROUNDS {
        created(store, Duration::ZERO).await?;
    }
    for _ in 0..CLAIMS / ROUNDS {
        let begun = Instant::now();
        let claimed = store
            .claim_due(Duration::from_hours(1), &ClaimExceptions::default())
            .await?;
        times.push(begun.elapsed());
        let TaskClaim::Claimed(task) = claimed else {
            return Err("no task is due".into());
        };
        let done = TaskChange::to(TaskStatus::Cancelled).state("");
        store.change(&task.id, task.version, done).await?;
    }
    Ok(())
}
