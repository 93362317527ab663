//! The part of an instance that both builds have. Its tools leave marks in the folder `FOLDER` and wait for files that
//! the test creates there.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use mcp_runtime::Limits;
use mcp_runtime::http::HttpOptions;
use mcp_runtime::prelude::*;
use mcp_runtime_redis::RedisOptions;

pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Adds a line to the file that records the actions.
    pub(crate) fn note(&self, what: &str) -> std::io::Result<()> {
        let path = self.0.join("done");
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        // A single write, because other instances write to the file as well.
        file.write_all(format!("{what}\n").as_bytes())
    }

    pub(crate) async fn wait_for(&self, name: &str) {
        // There is no other way to wait for a file.
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

/// Places an order, which leaves a mark and is followed by a pause.
#[tool(idempotent_by = "id")]
async fn order(folder: State<Folder>, id: String, pause_ms: u64) -> Result<String> {
    folder.note(&format!("{id} order"))?;
    tokio::time::sleep(Duration::from_millis(pause_ms)).await;
    Ok(id)
}

/// Pays, at most once in a call, and leaves a mark.
#[tool]
async fn pay(ctx: &Context, folder: State<Folder>, id: String) -> Result<String> {
    let pay = ctx.once("pay", async || Ok(folder.note(&format!("{id} pay"))?));
    pay.await?;
    Ok(id)
}

/// Works in three steps, each of which leaves a mark with this id and is followed by a pause.
#[tool(task)]
async fn work(ctx: &Context, folder: State<Folder>, id: String, pause_ms: u64) -> Result<String> {
    for (number, step) in ["first", "second", "third"].into_iter().enumerate() {
        // Progress becomes the task's status message.
        ctx.progress(number);
        let work = ctx.once(step, async || Ok(folder.note(&format!("{id} {step}"))?));
        work.await?;
        tokio::time::sleep(Duration::from_millis(pause_ms)).await;
    }
    Ok(id)
}

/// Reports progress before and after it waits.
#[tool]
async fn report(ctx: &Context, folder: State<Folder>) -> &'static str {
    ctx.progress(1);
    folder.wait_for("go").await;
    ctx.progress(2);
    "reported"
}

#[derive(Elicit)]
struct Named {
    /// Your name
    name: String,
}

/// Asks for a name.
#[tool]
async fn ask(ctx: &Context) -> Result<String> {
    let named: Named = ctx.elicit("What is your name?").await?;
    Ok(format!("Hello, {}!", named.name))
}

/// Asks for a name, for as long as it takes, and leaves a mark.
#[tool(task)]
async fn sign(ctx: &Context, folder: State<Folder>, id: String) -> Result<String> {
    let named: Named = ctx.elicit("Who signs?").await?;
    let sign = ctx.once("signed", async || Ok(folder.note(&format!("{id} signed"))?));
    sign.await?;
    Ok(named.name)
}

/// Waits until it is cancelled, and leaves a mark then.
#[tool]
async fn wait(ctx: &Context, folder: State<Folder>) {
    struct Mark(State<Folder>);
    impl Drop for Mark {
        fn drop(&mut self) {
            let _ = self.0.note("cancelled");
        }
    }
    let _mark = Mark(folder);
    ctx.progress(1);
    std::future::pending::<()>().await;
}

/// Runs a build of the server, whose state and backend are the same as those of the other build.
pub(crate) async fn run(server: Server) -> Result<(), Box<dyn std::error::Error>> {
    let folder = Folder(
        std::env::var_os("FOLDER")
            .ok_or("a test starts this program")?
            .into(),
    );
    let limits = Limits::default().with(|limits| {
        limits.tasks.lease = Duration::from_secs(3);
        // On a busy machine, a lease can expire even though its process is still alive.
        limits.tasks.max_attempts = 20;
        limits.idempotency.max_wait = Duration::from_secs(3);
    });
    let redis = RedisOptions::new().limits(limits.clone());
    let redis = redis.connect_from_env().await?;
    let mut server = server.limits(limits).state(folder).backend(redis);
    // Only tests in which clients continue calls at other instances need keys.
    if std::env::var_os("SEALING_KEYS").is_some() {
        server = server.sealing_keys_from_env("SEALING_KEYS");
    }
    Ok(server.http(HttpOptions::new()).run().await?)
}
