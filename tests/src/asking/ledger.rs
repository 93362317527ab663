//! Records the handlers' actions in a file that tests can read.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_runtime::{Context, Result};
use serde::{Deserialize, Serialize};

/// A file with one line per action. Clones share the file, which is deleted when the last clone in the process that
/// created it is dropped.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "PathBuf", into = "PathBuf")]
pub struct Ledger(Arc<Page>);

#[derive(Debug)]
struct Page {
    path: PathBuf,
    is_own: bool,
}

impl Drop for Page {
    fn drop(&mut self) {
        if self.is_own {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl From<PathBuf> for Ledger {
    fn from(path: PathBuf) -> Self {
        let is_own = false;
        Self(Arc::new(Page { path, is_own }))
    }
}

impl From<Ledger> for PathBuf {
    fn from(ledger: Ledger) -> Self {
        ledger.0.path.clone()
    }
}

impl Default for Ledger {
    fn default() -> Self {
        Self::new()
    }
}

impl Ledger {
    /// Creates an empty ledger.
    #[must_use]
    pub fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("mcp-ledger-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let is_own = true;
        Self(Arc::new(Page { path, is_own }))
    }

    /// Records an action and returns the number of times that it has been recorded so far.
    pub(super) fn note(&self, what: &str) -> usize {
        let mut file = OpenOptions::new();
        let file = file.create(true).append(true).open(&self.0.path);
        let written = file.and_then(|mut file| file.write_all(format!("{what}\n").as_bytes()));
        written.expect("the ledger can be written");
        self.count(what)
    }

    /// Returns the number of times that an action has been recorded.
    #[must_use]
    pub fn count(&self, what: &str) -> usize {
        let all = std::fs::read_to_string(&self.0.path).unwrap_or_default();
        all.lines().filter(|line| *line == what).count()
    }

    /// Waits until an action has been recorded the given number of times, by this or another process.
    pub async fn until(&self, what: &str, times: usize) {
        crate::wait::until(async || self.count(what) >= times).await;
    }

    /// Records an action inside a `once` block.
    pub(super) async fn once(&self, ctx: &Context, what: &str) -> Result<usize> {
        ctx.once(what, async || Ok(self.note(what))).await
    }
}
