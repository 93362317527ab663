//! Watches skill directories and reports each burst of changes.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use notify::{Config, Event, RecommendedWatcher, RecursiveMode, Watcher as _};

/// Period without changes that ends a burst.
const QUIET: Duration = Duration::from_millis(100);
/// Maximum duration of a burst, so that a file that changes continually does not hide other changes.
const MAX_BURST: Duration = Duration::from_secs(1);

/// Watches directories until the watcher is dropped. The receiver contains a message if any file has changed.
pub(super) fn watch(directories: &[PathBuf]) -> notify::Result<(RecommendedWatcher, Receiver<()>)> {
    // A single pending message represents all changes.
    let (sender, changes) = mpsc::sync_channel(1);
    // Some systems report paths relative to the directory as specified, whereas others resolve links first.
    let resolved = directories
        .iter()
        .filter_map(|path| path.canonicalize().ok());
    let roots: Vec<PathBuf> = directories.iter().cloned().chain(resolved).collect();
    let handler = move |event: notify::Result<Event>| {
        // After an error, changes may have been missed.
        if event.map_or(true, |event| matters(&event, &roots)) {
            let _ = sender.try_send(());
        }
    };
    // A link in a directory could lead to any number of files. Links are not part of skills, so they are not followed.
    let config = Config::default().with_follow_symlinks(false);
    let mut watcher = RecommendedWatcher::new(handler, config)?;
    for directory in directories {
        // The directory itself may be a link.
        let resolved = directory.canonicalize().map_err(notify::Error::io)?;
        watcher.watch(&resolved, RecursiveMode::Recursive)?;
    }
    Ok((watcher, changes))
}

/// Returns `true` unless the event is a read access or concerns only hidden files, which are never part of a skill.
fn matters(event: &Event, roots: &[PathBuf]) -> bool {
    let is_hidden = |path: &PathBuf| {
        let mut below = roots.iter().filter_map(|root| path.strip_prefix(root).ok());
        below.any(has_hidden_part)
    };
    !event.kind.is_access() && (event.paths.is_empty() || !event.paths.iter().all(is_hidden))
}

fn has_hidden_part(path: &Path) -> bool {
    let mut parts = path.iter();
    parts.any(|part| part.as_encoded_bytes().starts_with(b"."))
}

/// Calls `reload` after each burst of changes, until the watcher is dropped.
pub(super) fn follow(changes: &Receiver<()>, reload: impl Fn()) {
    while changes.recv().is_ok() {
        let began = Instant::now();
        while began.elapsed() < MAX_BURST && changes.recv_timeout(QUIET).is_ok() {}
        reload();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use notify::EventKind;
    use notify::event::{AccessKind, EventAttributes, ModifyKind};

    use super::*;

    /// Time after which a test gives up.
    const PATIENCE: Duration = Duration::from_secs(30);

    #[test]
    fn changes_that_never_stop_are_reported_all_the_same() {
        let (sender, changes) = mpsc::sync_channel(1);
        let (reloaded, reloads) = mpsc::channel();
        thread::spawn(move || {
            follow(&changes, || {
                let _ = reloaded.send(());
            });
        });
        thread::spawn(move || while sender.send(()).is_ok() {});
        for _ in 0..2 {
            assert_eq!(reloads.recv_timeout(PATIENCE), Ok(()));
        }
    }

    #[test]
    fn without_a_watcher_nothing_is_followed() {
        let (watcher, changes) = watch(&[std::env::temp_dir()]).unwrap();
        let (ended, end) = mpsc::channel();
        let following = thread::spawn(move || {
            follow(&changes, || {});
            let _ = ended.send(());
        });
        drop(watcher);
        assert_eq!(end.recv_timeout(PATIENCE), Ok(()));
        following.join().unwrap();
    }

    /// The kernel lists the inodes that it watches.
    #[cfg(target_os = "linux")]
    #[test]
    fn links_in_a_directory_are_not_watched() {
        use std::fs;
        use std::os::unix::fs::{MetadataExt as _, symlink};

        let scratch = std::env::temp_dir().join(format!("mcp-watched-{}", std::process::id()));
        let _ = fs::remove_dir_all(&scratch);
        let at = |path: &str| scratch.join(path);
        fs::create_dir_all(at("in/deep")).unwrap();
        fs::create_dir_all(at("out/deep")).unwrap();
        symlink(at("out"), at("in/link")).unwrap();
        symlink(at("in"), at("root")).unwrap();
        let _watching = watch(&[at("root")]).unwrap();
        let mut watched = String::new();
        for entry in fs::read_dir("/proc/self/fdinfo").unwrap().flatten() {
            watched += &fs::read_to_string(entry.path()).unwrap_or_default();
        }
        let is_watched = |path: &str| {
            let inode = fs::metadata(at(path)).unwrap().ino();
            watched.contains(&format!("ino:{inode:x} "))
        };
        let paths = ["in", "in/deep", "out", "out/deep"];
        assert_eq!(paths.map(is_watched), [true, true, false, false]);
        let _ = fs::remove_dir_all(&scratch);
    }

    #[test]
    fn reading_and_hidden_files_do_not_matter() {
        let roots = [PathBuf::from("/home/.skills")];
        let changed = EventKind::Modify(ModifyKind::Any);
        let matters = |kind, paths: &[&str]| {
            let paths = paths.iter().map(PathBuf::from).collect();
            let event = Event {
                kind,
                paths,
                attrs: EventAttributes::default(),
            };
            matters(&event, &roots)
        };
        assert!(matters(changed, &["/home/.skills/a/SKILL.md"]));
        assert!(matters(changed, &["/elsewhere/.a"]));
        assert!(matters(changed, &[]));
        assert!(!matters(changed, &["/home/.skills/.git/index"]));
        assert!(!matters(changed, &["/home/.skills/a/.SKILL.md.swp"]));
        assert!(matters(
            changed,
            &["/home/.skills/a/.new", "/home/.skills/a/x"]
        ));
        let read = EventKind::Access(AccessKind::Any);
        assert!(!matters(read, &["/home/.skills/a/SKILL.md"]));
    }
}
