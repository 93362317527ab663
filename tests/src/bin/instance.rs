//! An instance of a server that shares a Redis with others, over HTTP on a free port. Tests start several, and kill them.
//!
//! Its tools leave marks in the folder `FOLDER`, and wait for files that the test makes there.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use mcp_runtime::Limits;
use mcp_runtime::http::HttpOptions;
use mcp_runtime::prelude::*;
use mcp_runtime_redis::RedisOptions;

struct Folder(PathBuf);

impl Folder {
    /// Adds a line to the file of what was done.
    fn note(&self, what: &str) -> std::io::Result<()> {
        let path = self.0.join("done");
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        writeln!(file, "{what}")
    }

    async fn wait_for(&self, name: &str) {
        // A file cannot be waited for in another way.
        while !self.0.join(name).exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Says it again.
#[tool(read_only)]
fn echo(text: String) -> String {
    text
}

/// A note that others change.
#[resource_template("note://{number}")]
fn note(number: u32) -> String {
    number.to_string()
}

/// Says that a resource has changed.
#[tool]
fn touch(ctx: &Context, uri: String) {
    ctx.server().notify().resource_updated(uri);
}

/// Imports in two steps.
#[tool(task)]
async fn import(ctx: &Context, folder: State<Folder>) -> Result<String> {
    let first = ctx.once("first", async || Ok(folder.note("first")?));
    first.await?;
    folder.note("between")?;
    folder.wait_for("go").await;
    let second = ctx.once("second", async || Ok(folder.note("second")?));
    second.await?;
    Ok("imported".into())
}

/// Reports progress before and after it waits.
#[tool]
async fn report(ctx: &Context, folder: State<Folder>) -> &'static str {
    ctx.progress(1);
    folder.wait_for("go").await;
    ctx.progress(2);
    "reported"
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = Folder(
        std::env::var_os("FOLDER")
            .ok_or("a test starts this program")?
            .into(),
    );
    let limits = Limits::default().with(|limits| {
        limits.tasks.lease = Duration::from_secs(3);
        // On a busy machine, a lease can lapse though its process lives.
        limits.tasks.max_attempts = 20;
    });
    let redis = RedisOptions::new().limits(limits.clone());
    let redis = redis.connect_from_env().await?;
    let server = new_server!().limits(limits).state(folder).backend(redis);
    Ok(server.http(HttpOptions::new()).run().await?)
}
