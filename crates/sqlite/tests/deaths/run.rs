//! One run: a task, the processes that die while running it, and one more process that completes it.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use mcp_runtime::backend::{StoredTask, TaskStatus, TaskStore as _};
use mcp_runtime::serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::{Instant, sleep};

use crate::judge::{Verdict, judge};
use crate::server::{DEATH, SEAMS};
use crate::store::{self, Store};
use crate::tools::{DONE, Tool};

/// Maximum time to wait for anything.
const PATIENCE: Duration = Duration::from_mins(1);
/// Maximum time to wait for a process to die after its task has ended.
const LAST_SEAM: Duration = Duration::from_secs(5);
/// Interval at which the store is checked.
const LOOK: Duration = Duration::from_millis(50);

pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// The result of one run.
pub(crate) struct Run {
    pub(crate) tool: &'static Tool,
    /// The seams at which processes were to die.
    pub(crate) deaths: Vec<String>,
    /// Number that died there. On a busy machine, a lease can lapse early, so that the next process misses its seam.
    pub(crate) died: usize,
    /// The seams that the last process passed.
    pub(crate) seams: Vec<String>,
    pub(crate) attempts: u64,
    pub(crate) verdict: Verdict,
}

/// Runs a task to its end, with one process for each death and one more process.
pub(crate) async fn run(tool: &'static Tool, deaths: Vec<String>) -> Result<Run, Failure> {
    let folder = Folder::new()?;
    let store = store::open(&folder.0).await?;
    let mut logs = Vec::new();
    let mut died = 0;
    for (number, death) in deaths.iter().map(Some).chain([None]).enumerate() {
        let log = format!("seams-{number}");
        let mut process = Process::start((&folder.0, &store), tool, &log, death).await?;
        died += usize::from(process.live(&store, death.is_some()).await?);
        drop(process);
        logs.push(lines(&folder.0.join(log)));
    }
    let task = newest_task(&store).await?;
    let task = task.ok_or("the task is gone")?;
    let done = lines(&folder.0.join(DONE));
    let verdict = judge(tool, &task, &done, &logs);
    Ok(Run {
        tool,
        deaths,
        died,
        seams: logs.pop().unwrap_or_default(),
        attempts: task.attempt,
        verdict,
    })
}

/// A server that is killed when dropped.
struct Process {
    child: Child,
    input: ChildStdin,
    has_answered: bool,
}

impl Process {
    /// Starts a server and calls its tool if the store has no task.
    async fn start(
        (folder, store): (&Path, &Store),
        tool: &Tool,
        log: &str,
        death: Option<&String>,
    ) -> Result<Self, Failure> {
        let has_task = newest_task(store).await?.is_some();
        let mut command = Command::new(std::env::current_exe()?);
        command
            .env("FOLDER", folder)
            .env(SEAMS, log)
            .envs(store::variables())
            .kill_on_drop(true);
        if let Some(death) = death {
            command.env(DEATH, death);
        }
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = command.spawn()?;
        let input = child.stdin.take().ok_or("no standard input")?;
        let mut process = Self {
            child,
            input,
            has_answered: false,
        };
        if !has_task {
            let params = json!({"name": tool.name, "arguments": {}});
            process.send("tools/call", params).await;
        }
        Ok(process)
    }

    /// Sends a request. A process that has already died is detected elsewhere.
    async fn send(&mut self, method: &str, mut params: Value) {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "driver", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {
                "elicitation": {},
                "extensions": {"io.modelcontextprotocol/tasks": {}},
            },
        });
        let id = method;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let _ = self
            .input
            .write_all(format!("{request}\n").as_bytes())
            .await;
    }

    /// Waits until the process has died or the task has ended, and answers the task's question in the meantime. Returns
    /// `true` if the process has died.
    async fn live(&mut self, store: &Store, is_mortal: bool) -> Result<bool, Failure> {
        let started = Instant::now();
        let mut ended = None;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return if is_mortal {
                    Ok(true)
                } else {
                    Err(format!("a process ended by itself: {status}").into())
                };
            }
            if let Some(task) = newest_task(store).await? {
                if task.status.is_final() {
                    let ended: &mut Instant = ended.get_or_insert_with(Instant::now);
                    if !is_mortal || ended.elapsed() > LAST_SEAM {
                        return Ok(false);
                    }
                }
                if task.status == TaskStatus::InputRequired && !self.has_answered {
                    self.has_answered = true;
                    let answer = json!({"action": "accept", "content": {"sure": true}});
                    let params =
                        json!({"taskId": task.id.as_str(), "inputResponses": {"sure": answer}});
                    self.send("tasks/update", params).await;
                }
            }
            if started.elapsed() > PATIENCE {
                return Err("neither the process nor its task has ended".into());
            }
            sleep(LOOK).await;
        }
    }
}

async fn newest_task(store: &Store) -> Result<Option<StoredTask>, Failure> {
    let page = store.list("trusted", None, 10).await?;
    Ok(page.and_then(|page| page.tasks.into_iter().next_back()))
}

pub(crate) fn lines(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// A folder that is removed when dropped.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Result<Self, Failure> {
        use std::sync::atomic::{AtomicUsize, Ordering};
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("mcp-deaths-{}-{number}", std::process::id());
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
