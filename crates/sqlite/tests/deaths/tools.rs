//! The tools under test. Each step appends its name to a file, which shows how often the step was done.

use std::path::PathBuf;

use mcp_runtime::prelude::*;

use crate::server::append;

/// The file with the names of the steps that were done.
pub(crate) const DONE: &str = "done";
/// The size of the large result.
pub(crate) const LARGE: usize = 300_000;

/// A tool and the expected results.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) steps: &'static [(&'static str, Kind)],
    /// The text of its result.
    pub(crate) text: fn() -> String,
}

/// The permitted outcomes of a step.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The step is done at most once. If its process dies during the step, the task says so.
    Once,
    /// The step is done at least once.
    Retry,
    /// The step fails whenever it runs, and its tool continues without it.
    Failing,
}

pub(crate) static TOOLS: [Tool; 5] = [
    Tool {
        name: "chunks",
        steps: &[
            ("chunk-1", Kind::Once),
            ("chunk-2", Kind::Once),
            ("chunk-3", Kind::Once),
            ("chunk-4", Kind::Once),
            ("chunk-5", Kind::Once),
        ],
        text: || "all chunks".into(),
    },
    Tool {
        name: "retried",
        steps: &[
            ("download", Kind::Retry),
            ("load", Kind::Once),
            ("notify", Kind::Retry),
        ],
        text: || "downloaded, loaded and notified".into(),
    },
    Tool {
        name: "asks",
        steps: &[("plan", Kind::Once), ("deploy", Kind::Once)],
        text: || "deployed: true".into(),
    },
    Tool {
        name: "parallel",
        steps: &[
            ("left", Kind::Once),
            ("right", Kind::Once),
            ("middle", Kind::Retry),
            ("last", Kind::Once),
        ],
        text: || "all sides".into(),
    },
    Tool {
        name: "large",
        steps: &[
            ("collect", Kind::Once),
            ("upload", Kind::Failing),
            ("archive", Kind::Once),
        ],
        text: || "x".repeat(LARGE),
    },
];

/// The server's folder.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    fn done(&self, step: &str) -> Result<String> {
        append(&self.0.join(DONE), step)?;
        Ok(step.to_owned())
    }
}

/// Does one step after the other.
#[tool(task)]
async fn chunks(ctx: &Context, folder: State<Folder>) -> Result<String> {
    for chunk in 1..=5 {
        let name = format!("chunk-{chunk}");
        let work = name.clone();
        ctx.once(name, async || folder.done(&work)).await?;
    }
    Ok("all chunks".into())
}

/// Does steps that may be repeated before and after one that may not.
#[tool(task)]
async fn retried(ctx: &Context, folder: State<Folder>) -> Result<String> {
    let download = ctx.step("download", async || folder.done("download"));
    let file = download.await?;
    ctx.once("load", async || folder.done("load")).await?;
    let notify = ctx.step("notify", async || folder.done("notify"));
    notify.await?;
    Ok(format!("{file}ed, loaded and notified"))
}

/// The user's decision to go on.
#[derive(Elicit)]
struct Sure {
    /// Really?
    sure: bool,
}

/// Asks between two steps.
#[tool(task)]
async fn asks(ctx: &Context, folder: State<Folder>) -> Result<String> {
    ctx.once("plan", async || folder.done("plan")).await?;
    let Sure { sure } = ctx.elicit("Deploy?").key("sure").await?;
    ctx.once("deploy", async || folder.done("deploy")).await?;
    Ok(format!("deployed: {sure}"))
}

/// Does several steps at the same time.
#[tool(task)]
async fn parallel(ctx: &Context, folder: State<Folder>) -> Result<String> {
    tokio::try_join!(
        ctx.once("left", async || folder.done("left")),
        ctx.once("right", async || folder.done("right")),
        ctx.step("middle", async || folder.done("middle")),
    )?;
    ctx.once("last", async || folder.done("last")).await?;
    Ok("all sides".into())
}

/// Goes another way after a failure, and returns a large result.
#[tool(task)]
async fn large(ctx: &Context, folder: State<Folder>) -> Result<String> {
    ctx.once("collect", async || folder.done("collect")).await?;
    let upload = ctx.once("upload", async || {
        folder.done("upload")?;
        Err::<(), _>(HandlerError::exposed("the other side does not answer"))
    });
    if upload.await.is_err() {
        ctx.once("archive", async || folder.done("archive")).await?;
    }
    Ok("x".repeat(LARGE))
}
