//! The server of calls that are not tasks. It is killed before or after an operation of its store for `once`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_runtime::Limits;
use mcp_runtime::backend::{Backend, OnceClaim, OnceStore, OnceWork, StoreFuture};
use mcp_runtime::prelude::*;
use mcp_runtime::server::SealingKey;
use mcp_runtime_redis::Redis;
use rustix::process::{Signal, getpid, kill_process};

use crate::calls::{ENDED, STEPS};
use crate::server::{DEATH, SEAMS, append};
use crate::store;
use crate::tools::{DONE, Folder};

/// A store that writes the name of each seam to a file, and kills its process at one of them.
struct MortalOnce {
    store: Redis,
    seams: PathBuf,
    death: Option<String>,
    /// Number of times that each operation was begun.
    begun: Mutex<HashMap<String, usize>>,
}

impl MortalOnce {
    /// Runs an operation between two seams. Their names contain the first word of the entry's name, because the rest is
    /// different in each run.
    fn seam<'a, T: 'a>(
        &'a self,
        operation: &'static str,
        entry: &str,
        work: StoreFuture<'a, T>,
    ) -> StoreFuture<'a, T> {
        let entry = entry.split(' ').next().unwrap_or_default();
        let name = format!("{operation} {entry}");
        let number = {
            let mut begun = self.begun.lock().unwrap();
            let number = begun.entry(name.clone()).or_default();
            *number += 1;
            *number
        };
        Box::pin(async move {
            self.pass(&format!("before {name} {number}"));
            let done = work.await;
            self.pass(&format!("after {name} {number}"));
            done
        })
    }

    fn pass(&self, seam: &str) {
        append(&self.seams, seam).unwrap();
        if self.death.as_deref() == Some(seam) {
            kill_process(getpid(), Signal::KILL).unwrap();
            // The signal arrives at some point before this returns.
            std::thread::park();
        }
    }
}

impl OnceStore for MortalOnce {
    fn begin<'a>(&'a self, work: OnceWork<'a>) -> StoreFuture<'a, OnceClaim> {
        self.seam("begin", work.name, self.store.begin(work))
    }
    fn complete<'a>(&'a self, work: OnceWork<'a>, result: &'a str) -> StoreFuture<'a, ()> {
        self.seam("complete", work.name, self.store.complete(work, result))
    }
    fn abandon<'a>(&'a self, work: OnceWork<'a>) -> StoreFuture<'a, ()> {
        self.seam("abandon", work.name, self.store.abandon(work))
    }
    fn forget<'a>(&'a self, work: OnceWork<'a>, result: &'a str) -> StoreFuture<'a, ()> {
        self.seam("forget", work.name, self.store.forget(work, result))
    }
}

/// Does a step, which leaves a mark with the id of its call.
async fn step(ctx: &Context, folder: &Folder, name: &'static str) -> Result<()> {
    let work = async || {
        Ok(append(
            &folder.0.join(DONE),
            &format!("{} {name}", ctx.call_id()),
        )?)
    };
    ctx.once(name, work).await
}

/// Pays and ships.
#[tool]
async fn order(ctx: &Context, folder: State<Folder>) -> Result<&'static str> {
    for name in STEPS {
        step(ctx, &folder, name).await?;
    }
    Ok(ENDED)
}

/// The user's decision to go on.
#[derive(Elicit)]
struct Confirmed {
    /// Really?
    sure: bool,
}

/// Asks before it ships.
#[tool]
async fn confirm(ctx: &Context, folder: State<Folder>) -> Result<&'static str> {
    let [pay, ship] = STEPS;
    step(ctx, &folder, pay).await?;
    let Confirmed { sure: true } = ctx.elicit("Ship?").key("sure").await? else {
        bail!("not sure");
    };
    step(ctx, &folder, ship).await?;
    Ok(ENDED)
}

/// Asks before it does a step that may be repeated.
#[tool]
async fn repeat(ctx: &Context, folder: State<Folder>) -> Result<&'static str> {
    let [first, second] = STEPS;
    let note = |name| append(&folder.0.join(DONE), &format!("{} {name}", ctx.call_id()));
    ctx.step(first, async || Ok(note(first)?)).await?;
    let Confirmed { .. } = ctx.elicit("Go on?").key("sure").await?;
    ctx.step(second, async || Ok(note(second)?)).await?;
    Ok(ENDED)
}

pub(crate) async fn serve(folder: &Path) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let limits = Limits::default().with(|limits| {
        // A repeat finds out that the first call has died only by waiting for it.
        limits.idempotency.max_wait = Duration::from_millis(100);
    });
    let store = MortalOnce {
        store: store::open(folder).await?,
        seams: folder.join(std::env::var(SEAMS)?),
        death: std::env::var(DEATH).ok(),
        begun: Mutex::default(),
    };
    let server = new_server!()
        .limits(limits)
        .state(Folder(folder.to_owned()));
    let server = server
        .backend(Backend::new().once(Arc::new(store)))
        .with(mcp_runtime::extension::IdempotencyKeys);
    // The same key in all processes, so that one can continue what another one has begun.
    let server = server.sealing_keys([SealingKey::from_bytes([7; 32])]);
    Ok(server.run().await?)
}
