//! Backups of folders as compressed archives: a job that takes a while. It reports how far it is, stops within moments
//! when its client cancels it, asks before a large one, and is done once however often a client sends its answer.
//!
//! `backup --help` lists the settings.

mod archive;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use mcp_runtime::backend::{Backend, MemoryOnceStore};
use mcp_runtime::prelude::*;

use crate::archive::{Archive, Plan};

/// The settings. The variables begin with `BACKUP_`.
#[data(input)]
struct Settings {
    /// Directory whose folders can be backed up
    from: PathBuf,
    /// Directory for archives
    to: PathBuf,
    /// Size in bytes from which the user is asked first
    #[arg(default = 1 << 30)]
    ask_from: u64,
}

/// The form that a user fills in before a large backup.
#[derive(Elicit)]
struct Approval {
    /// Back it up?
    approve: bool,
}

/// Backs up a folder.
#[tool(timeout = "1h")]
async fn back_up(
    ctx: Context,
    settings: &State<Settings>,
    /// The folder
    folder: SafePath,
    /// Name of the new archive
    #[arg(pattern = "^[A-Za-z0-9_-]{1,64}$")]
    name: &str,
) -> Result<Json<Archive>> {
    let source = folder.join_to(&settings.from).ok();
    let Some(source) = source.filter(|source| source.is_dir()) else {
        bail!("there is no folder `{folder}`");
    };
    // Clients of 2026-07-28 call again with the answer, and the function runs again. `once` keeps the question the
    // same, though files may have changed meanwhile, and the job single.
    let plan = ctx
        .once("plan", async || in_thread(move || Plan::of(&source)).await)
        .await?;
    if plan.bytes >= settings.ask_from {
        let question = format!(
            "`{folder}` has {} files of {} MiB together.",
            plan.files,
            plan.bytes >> 20
        );
        let answer: Approval = ctx.elicit(question).await?;
        if !answer.approve {
            bail!("the user decided against it; nothing was written");
        }
    }
    let archive = ctx.once("archive", async || {
        let (ctx, target) = (ctx.clone(), settings.to.join(format!("{name}.tar.gz")));
        in_thread(move || archive::write(&ctx, &plan, &target)).await
    });
    Ok(Json(archive.await?))
}

/// Runs code that blocks. A call that is cancelled is dropped, but its threads have to find out themselves.
async fn in_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, archive::Error> + Send + 'static,
) -> Result<T> {
    Ok(tokio::task::spawn_blocking(work).await??)
}

fn server() -> Server {
    new_server!().backend(Backend::new().once(Arc::new(MemoryOnceStore::new())))
}

#[mcp_runtime::main]
async fn main() -> Result<(), mcp_runtime::Error> {
    server().env::<Settings>("BACKUP_").run().await
}
