//! Serves a directory: its files can be listed and read, and clients can subscribe to changes.
//!
//! `FILES_ROOT` names the directory. Files outside of it, and hidden files inside of it, cannot be reached.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use mcp_runtime::handler::{ListCursor, Page};
use mcp_runtime::prelude::*;
use mcp_runtime::server::ServerHandle;
use mcp_runtime::types::{Resource, ResourceContents};
use notify::event::ModifyKind;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

/// Maximum number of files that are listed.
const FILES: usize = 10_000;
/// Maximum number of files on a page of the list.
const PAGE: usize = 100;
/// Maximum size of a file that is read, in bytes.
const BYTES: u64 = 1 << 20;

/// The directory that is served.
struct Root {
    /// The path, free of symbolic links.
    path: PathBuf,
}

impl Root {
    /// Returns the regular files, in order of their paths. Symbolic links are not followed.
    fn files(&self) -> Vec<SafePath> {
        let mut files = Vec::new();
        let mut directories = vec![self.path.clone()];
        while let Some(directory) = directories.pop()
            && files.len() < FILES
        {
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                let (Some(path), Ok(kind)) = (self.name(&entry.path()), entry.file_type()) else {
                    continue;
                };
                if kind.is_dir() {
                    directories.push(entry.path());
                } else if kind.is_file() {
                    files.push(path);
                }
            }
        }
        files.truncate(FILES);
        files.sort();
        files
    }

    /// Returns the name of a path for clients; `None` if it is hidden from them.
    fn name(&self, path: &Path) -> Option<SafePath> {
        let path = path.strip_prefix(&self.path).ok()?.to_str()?;
        let path = SafePath::new(path.replace(std::path::MAIN_SEPARATOR, "/")).ok()?;
        let is_hidden = path.as_str().split('/').any(|part| part.starts_with('.'));
        (!is_hidden).then_some(path)
    }
}

fn uri(path: &SafePath) -> String {
    format!("files:///{}", path.to_percent_encoded())
}

/// One file: a string if it is valid text, bytes otherwise.
#[resource_template("files:///{+path}", list = files)]
fn file(
    root: &State<Root>,
    #[complete(paths)] path: &SafePath,
) -> Result<Option<ResourceContents>> {
    let Ok(place) = path.join_to(&root.path) else {
        return Ok(None);
    };
    // A link may lead to a hidden file, and reading anything but a regular file may never end.
    if root.name(&place).is_none() || !place.is_file() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(place)?;
    file.take(BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > BYTES {
        bail!("`{path}` is larger than {BYTES} bytes, the most that is served");
    }
    Ok(Some(match String::from_utf8(bytes) {
        Ok(text) => ResourceContents::text("", text).with_mime_type("text/plain"),
        Err(error) => {
            ResourceContents::blob("", error.as_bytes()).with_mime_type("application/octet-stream")
        }
    }))
}

/// Returns a page of the files. The cursor is the number of files listed before.
fn files(root: &State<Root>, cursor: ListCursor) -> Result<Page<Resource>> {
    let start: usize = cursor.0.map_or(Ok(0), |cursor| cursor.parse())?;
    let files = root.files();
    let end = start.saturating_add(PAGE);
    let page: Vec<_> = files
        .iter()
        .skip(start)
        .take(PAGE)
        .map(|path| Resource::new(uri(path), path.as_str()))
        .collect();
    let page = Page::new(page);
    Ok(if end < files.len() {
        page.with_next(end.to_string())
    } else {
        page
    })
}

#[completer]
fn paths(_partial: &str, root: &State<Root>) -> Vec<String> {
    root.files().iter().map(ToString::to_string).collect()
}

/// Notifies clients of changes in the directory, until the returned watcher is dropped.
///
/// If a directory with files in it is renamed, clients are notified that the list has changed.
fn watch(root: &Path, server: &ServerHandle) -> notify::Result<RecommendedWatcher> {
    let clients = server.notify();
    let directory = Root { path: root.into() };
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        let Ok(event) = event else { return };
        if event.kind.is_access() {
            return;
        }
        let changed = if event.need_rescan() {
            directory.files()
        } else {
            let paths = event.paths.iter();
            paths.filter_map(|path| directory.name(path)).collect()
        };
        for path in &changed {
            clients.resource_updated(uri(path));
        }
        let is_content = matches!(
            event.kind,
            EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Metadata(_))
        );
        if !is_content {
            clients.resources_changed();
        }
    })?;
    watcher.watch(root, RecursiveMode::Recursive)?;
    Ok(watcher)
}

#[mcp_runtime::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = std::env::var_os("FILES_ROOT").ok_or("set `FILES_ROOT` to a directory")?;
    let path = fs::canonicalize(&root).map_err(|error| format!("{}: {error}", root.display()))?;
    let server = Server::new("files", "1.0.0");
    let _watcher = watch(&path, &server.handle())?;
    server.state(Root { path }).run().await?;
    Ok(())
}
