//! The server that is killed: its tool has five steps, each of which appends its name to a file.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mcp_runtime::Limits;
use mcp_runtime::prelude::*;
use mcp_runtime_sqlite::Sqlite;

use crate::mortal::Mortal;

/// Number of steps of the tool.
pub(crate) const STEPS: usize = 5;
/// The file with the names of the steps that were done.
pub(crate) const DONE: &str = "done";
/// The file with the seams that the process has passed.
pub(crate) const SEAMS: &str = "seams";
/// The database.
pub(crate) const STATE: &str = "state.db";

/// The folder of the server.
struct Folder(PathBuf);

/// Does five steps.
#[tool(task)]
async fn import(ctx: &Context, folder: State<Folder>) -> Result<String> {
    for step in 1..=STEPS {
        let name = format!("step-{step}");
        let line = name.clone();
        let done = ctx.once(name, async || {
            append(&folder.0.join(DONE), &line)?;
            Ok(step)
        });
        done.await?;
    }
    Ok("all steps".into())
}

/// Appends a line to a file.
pub(crate) fn append(file: &Path, line: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(file)?;
    file.write_all(format!("{line}\n").as_bytes())
}

pub(crate) async fn serve(folder: &Path) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let store = Sqlite::open(folder.join(STATE))?;
    let limits = Limits::default().with(|limits| {
        limits.tasks.lease = Duration::from_millis(400);
        // On a busy machine, a lease can lapse though its process lives.
        limits.tasks.max_attempts = 20;
    });
    let death = std::env::var("DEATH").ok();
    let store = Mortal::new(store, folder.join(SEAMS), death);
    let server = new_server!()
        .limits(limits)
        .state(Folder(folder.to_owned()));
    Ok(server.task_store(store).run().await?)
}
