//! Starts servers, lets them die, and checks what is left of their work.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use mcp_runtime::backend::{StoredTask, TaskOutcome, TaskStatus, TaskStore as _};
use mcp_runtime::serde_json::{Value, from_str, json};
use mcp_runtime_sqlite::Sqlite;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::server::{DONE, SEAMS, STATE, STEPS};

/// Number of runs at the same time. They mostly wait for leases to lapse.
const AT_ONCE: usize = 12;
/// Time for which anything is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

type Failure = Box<dyn Error + Send + Sync>;

/// The result of one run.
struct Run {
    deaths: Vec<String>,
    /// The step that the task says it died in, if it says so.
    told: Option<String>,
    /// Number of times that each step was done.
    done: Vec<usize>,
    attempts: u64,
    /// The seams that the last process passed.
    seams: Vec<String>,
    problem: Option<String>,
}

pub(crate) async fn drive() -> Result<(), Failure> {
    let started = Instant::now();
    let whole = run(Vec::new()).await?;
    let firsts = whole.seams.clone();
    let singles = all(firsts.iter().map(|seam| vec![seam.clone()]).collect()).await?;
    print_runs(&singles);
    let mut runs = singles;
    runs.push(whole);
    let pairs = runs.iter().filter(|run| run.deaths.len() == 1);
    let pairs = pairs.flat_map(|run| {
        let seconds = run.seams.iter();
        seconds.map(|second| vec![run.deaths[0].clone(), second.clone()])
    });
    let pairs = all(pairs.collect()).await?;
    println!("and {} pairs of deaths", pairs.len());
    print_runs(pairs.iter().filter(|run| run.problem.is_some()));
    runs.extend(pairs);
    let twice = runs
        .iter()
        .filter(|run| run.done.iter().any(|times| *times > 1))
        .count();
    let told = runs.iter().filter(|run| run.told.is_some()).count();
    let failed = runs.iter().filter(|run| run.problem.is_some()).count();
    let deaths: usize = runs.iter().map(|run| run.deaths.len()).sum();
    println!(
        "{} runs, {deaths} deaths in {} s: {} tasks completed, {told} told the step in which they died, {twice} did a \
         step twice, {failed} failed",
        runs.len(),
        started.elapsed().as_secs(),
        runs.len() - told - failed,
    );
    // The form of other tests, for those who count them.
    let result = if failed == 0 { "ok" } else { "FAILED" };
    println!(
        "\ntest result: {result}. {} passed; {failed} failed\n",
        runs.len() - failed
    );
    if failed == 0 {
        Ok(())
    } else {
        Err("a task was lost, or a step was done twice".into())
    }
}

fn print_runs<'r>(runs: impl IntoIterator<Item = &'r Run>) {
    for run in runs {
        let done: Vec<_> = run.done.iter().map(ToString::to_string).collect();
        let end = match (&run.problem, &run.told) {
            (Some(problem), _) => format!("PROBLEM: {problem}"),
            (None, Some(step)) => format!("tells that it died in {step}"),
            (None, None) => "completed".to_owned(),
        };
        let deaths = run.deaths.join(", then ");
        println!(
            "{deaths:<28} steps {} attempts {} {end}",
            done.join(" "),
            run.attempts
        );
    }
}

/// Runs all, some at the same time. The result is in the same order.
async fn all(deaths: Vec<Vec<String>>) -> Result<Vec<Run>, Failure> {
    let room = Arc::new(Semaphore::new(AT_ONCE));
    let mut running = JoinSet::new();
    for (number, deaths) in deaths.into_iter().enumerate() {
        let room = Arc::clone(&room);
        running.spawn(async move {
            let _room = room.acquire_owned().await?;
            Ok::<_, Failure>((number, run(deaths).await?))
        });
    }
    let mut done = BTreeMap::new();
    while let Some(run) = running.join_next().await {
        let (number, run) = run??;
        done.insert(number, run);
    }
    Ok(done.into_values().collect())
}

/// Runs a task to its end, with a process for each death and one more.
async fn run(deaths: Vec<String>) -> Result<Run, Failure> {
    let folder = Folder::new()?;
    for death in &deaths {
        let (mut process, input) = start(&folder.0, Some(death)).await?;
        let Ok(ended) = timeout(PATIENCE, process.wait()).await else {
            return Err(format!("the process did not die {death}").into());
        };
        drop((ended?, input));
    }
    let _ = fs::remove_file(folder.0.join(SEAMS));
    let (process, input) = start(&folder.0, None).await?;
    let task = final_task(&folder.0).await;
    drop((process, input));
    let task = task?;
    let read = |name: &str| fs::read_to_string(folder.0.join(name)).unwrap_or_default();
    let (done, seams) = (read(DONE), read(SEAMS));
    let times = |step: usize| {
        done.lines()
            .filter(|line| *line == format!("step-{step}"))
            .count()
    };
    let mut run = Run {
        deaths,
        told: None,
        done: (1..=STEPS).map(times).collect(),
        attempts: task.attempt,
        seams: seams.lines().map(str::to_owned).collect(),
        problem: None,
    };
    run.judge(&task);
    Ok(run)
}

impl Run {
    /// Checks that each step was done at most once, and that the task has completed unless it died inside a step.
    fn judge(&mut self, task: &StoredTask) {
        let inside = |death: &String| {
            let step = death.strip_prefix("after begin ");
            let step = step.or_else(|| death.strip_prefix("before complete "));
            step.map(str::to_owned)
        };
        let died_in = self.deaths.iter().find_map(inside);
        let (text, is_error) = match &task.outcome {
            Some(TaskOutcome::Result { json, is_error }) => {
                let result: Value = from_str(json).unwrap_or_default();
                let text = result["content"][0]["text"].as_str().unwrap_or_default();
                (text.to_owned(), *is_error)
            }
            other => (format!("{other:?}"), true),
        };
        let said = format!("{:?}, {text}, {:?}", task.status, task.message);
        let is_completed = task.status == TaskStatus::Completed;
        self.problem = if self.done.iter().any(|times| *times > 1) {
            Some("a step was done twice".into())
        } else if let Some(step) = died_in {
            let is_told = is_completed && is_error && text.contains(&*step);
            self.told = Some(step);
            (!is_told).then_some(said)
        } else {
            let is_whole = self.done.iter().all(|times| *times == 1);
            (!is_completed || is_error || !is_whole).then_some(said)
        };
    }
}

/// Starts a server, and calls its tool if the store has no task.
async fn start(folder: &Path, death: Option<&str>) -> Result<(Child, ChildStdin), Failure> {
    let has_task = newest_task(folder).await?.is_some();
    let mut command = Command::new(std::env::current_exe()?);
    command
        .env("FOLDER", folder)
        .env_remove("DEATH")
        .kill_on_drop(true);
    if let Some(death) = death {
        command.env("DEATH", death);
    }
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut process = command.spawn()?;
    let mut input = process.stdin.take().ok_or("no standard input")?;
    if !has_task {
        let call = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "import", "arguments": {}, "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "driver", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}},
            }},
        });
        // A process that has died already is noticed elsewhere.
        let _ = input.write_all(format!("{call}\n").as_bytes()).await;
    }
    Ok((process, input))
}

/// Waits until the task has ended.
async fn final_task(folder: &Path) -> Result<StoredTask, Failure> {
    let started = Instant::now();
    loop {
        let task = newest_task(folder).await?;
        if let Some(task) = task.filter(|task| task.status.is_final()) {
            return Ok(task);
        }
        if started.elapsed() > PATIENCE {
            return Err("the task has not ended in time".into());
        }
        sleep(Duration::from_millis(50)).await;
    }
}

async fn newest_task(folder: &Path) -> Result<Option<StoredTask>, Failure> {
    let store = Sqlite::open(folder.join(STATE))?;
    let page = store.list("trusted", None, 10).await?;
    Ok(page.and_then(|page| page.tasks.into_iter().next_back()))
}

/// A folder that is removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, Failure> {
        use std::sync::atomic::{AtomicUsize, Ordering};
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("mcp-sqlite-deaths-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
