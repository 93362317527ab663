//! Watches a project's sources, including those of its path dependencies, for changes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;

use super::Project;

/// Quiet period after a change, so that saving several files counts as a single change.
const QUIET: Duration = Duration::from_millis(50);

/// A watch on a project's sources.
pub(super) struct Watch {
    watcher: RecommendedWatcher,
    changes: mpsc::Receiver<()>,
    packages: Vec<PathBuf>,
    target: PathBuf,
    watched: BTreeSet<PathBuf>,
}

impl Watch {
    pub(super) fn start(project: &Project) -> Result<Self> {
        let (sender, changes) = mpsc::channel(1);
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if event.is_ok_and(|event| concerns_build(&event)) {
                // If the channel is full, a change has already been reported.
                let _ = sender.try_send(());
            }
        })?;
        let metadata = &project.metadata;
        let local = metadata
            .packages
            .iter()
            .filter(|package| package.source.is_none());
        let packages = local.filter_map(|package| package.manifest_path.parent());
        let mut packages: Vec<PathBuf> = packages.map(PathBuf::from).collect();
        packages.push(metadata.workspace_root.clone().into());
        let target = metadata.target_directory.clone().into();
        let mut watch = Self {
            watcher,
            changes,
            packages,
            target,
            watched: BTreeSet::new(),
        };
        watch.cover()?;
        Ok(watch)
    }

    /// Waits for a change and for the quiet period after it.
    pub(super) async fn change(&mut self) {
        // Also watches folders created in the meantime. Folders that cannot be watched have already been reported.
        let _ = self.cover();
        if self.changes.recv().await.is_none() {
            return std::future::pending().await;
        }
        while let Ok(Some(())) = tokio::time::timeout(QUIET, self.changes.recv()).await {}
    }

    /// Watches the packages and their folders, except hidden folders and build output.
    fn cover(&mut self) -> Result<()> {
        for package in self.packages.clone() {
            self.add(&package, RecursiveMode::NonRecursive)?;
            let entries =
                std::fs::read_dir(&package).with_context(|| package.display().to_string())?;
            for entry in entries.flatten() {
                let name = entry.file_name();
                let name = name.to_string_lossy();
                let skipped = name.starts_with('.') || matches!(&*name, "target" | "node_modules");
                if !skipped
                    && entry.file_type().is_ok_and(|kind| kind.is_dir())
                    && entry.path() != self.target
                    && !entry.path().join("Cargo.toml").exists()
                {
                    self.add(&entry.path(), RecursiveMode::Recursive)?;
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, folder: &Path, mode: RecursiveMode) -> Result<()> {
        if self.watched.insert(folder.to_owned()) {
            self.watcher.watch(folder, mode)?;
        }
        Ok(())
    }
}

/// Returns `true` if an event may affect the build. Cargo makes the final decision and builds only if a relevant file
/// has changed.
fn concerns_build(event: &Event) -> bool {
    !matches!(event.kind, EventKind::Access(_)) && event.paths.iter().any(|path| is_source(path))
}

fn is_source(path: &Path) -> bool {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy())
        .unwrap_or_default();
    let temporary =
        name.starts_with('.') || name.ends_with('~') || name.ends_with(".swp") || name == "4913";
    let written = [
        ".db", ".sqlite", ".log", ".jsonl", "-wal", "-shm", "-journal",
    ]
    .iter()
    .any(|end| name.ends_with(end));
    !temporary && !written && name != "Cargo.lock"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_editors_and_servers_are_no_sources() {
        for source in [
            "/p/src/main.rs",
            "/p/Cargo.toml",
            "/p/src/page.html",
            "/p/skills/a/SKILL.md",
        ] {
            assert!(is_source(Path::new(source)), "{source}");
        }
        for other in [
            "/p/src/.main.rs.swx",
            "/p/src/main.rs~",
            "/p/4913",
            "/p/notes.db-wal",
            "/p/Cargo.lock",
        ] {
            assert!(!is_source(Path::new(other)), "{other}");
        }
    }
}
