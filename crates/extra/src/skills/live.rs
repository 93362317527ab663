//! Starts serving skills, and replaces skills when their directories change.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Weak, mpsc};
use std::time::{Duration, Instant};
use std::{io, thread};

use mcp_core::context::{Context, Notifier, ServerHandle};
use mcp_core::error::{Error, ErrorKind};
use mcp_core::handler::dynamic::{Arguments, DynamicResource, DynamicTemplate};
use mcp_core::handler::handler_error::{HandlerError, Result};
use mcp_protocol::types::ResourceContents;
use mcp_skills::folder;
use mcp_skills::skill::SKILL_FILE;
use notify::{Config, Event, RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::skills::LiveSkills;
use crate::skills::catalog::{Catalog, ServedSkill};

impl LiveSkills {
    /// Reads all skills, serves their files as resources, and watches the directories. `fixed` contains the skills that
    /// do not change, and a message for each invalid skill.
    pub(super) fn start(
        self: &Arc<Self>,
        (fixed, mut problems): (Vec<Arc<ServedSkill>>, Vec<String>),
        directories: Vec<PathBuf>,
        server: &ServerHandle,
    ) -> std::result::Result<(), Error> {
        let fail =
            |problems: Vec<String>| Error::new(ErrorKind::Configuration, problems.join("\n"));
        // The directories are watched before they are read so that changes in between are not missed.
        let watching = watch(&directories);
        let (skills, unreadable) = read_all(&fixed, &directories);
        problems.extend(unreadable);
        if !problems.is_empty() {
            return Err(fail(problems));
        }
        let catalog = Arc::new(Catalog::new(skills).map_err(fail)?);
        for skill in catalog.skills() {
            server.resources().insert(self.resource(skill))?;
        }
        server.resource_templates().insert(self.template())?;
        self.replace_catalog(catalog);
        if directories.is_empty() {
            return Ok(());
        }
        let cannot_watch = "the skill directories cannot be watched";
        let (watcher, changes) =
            watching.map_err(|error| Error::new(ErrorKind::Io, cannot_watch).with_source(error))?;
        self.keep_watcher(watcher);
        // The server owns the skills, so the thread must not own the server.
        let (live, server) = (Arc::downgrade(self), Arc::downgrade(server.control()));
        let work = move || {
            follow(&changes, || {
                if let (Some(live), Some(server)) = (live.upgrade(), server.upgrade()) {
                    reload(&live, &fixed, &directories, &ServerHandle::new(server));
                }
            });
        };
        let thread = thread::Builder::new().name("skills".to_owned()).spawn(work);
        thread
            .map(drop)
            .map_err(|error| Error::new(ErrorKind::Io, cannot_watch).with_source(error))
    }

    /// Returns the resource for a skill's `SKILL.md`.
    fn resource(self: &Arc<Self>, skill: &ServedSkill) -> DynamicResource {
        let path = skill.path.clone();
        let file: Arc<str> = format!("{path}/SKILL.md").into();
        let live = Arc::downgrade(self);
        let mut resource = DynamicResource::new(&skill.uri, &skill.name, move |ctx| {
            read_if_live(live.clone(), ctx, Arc::clone(&file))
        });
        if self.needs_no_state() {
            resource.handler = resource.handler.without_state();
        }
        let resource = resource
            .description(&skill.description)
            .mime_type("text/markdown");
        if !self.visible_if.is_restricted() {
            return resource;
        }
        let visible_if = self.visible_if.clone();
        resource.visible_if(move |caller| visible_if.is_visible_to(caller, &path))
    }

    /// Returns the resource template for all other files.
    fn template(self: &Arc<Self>) -> DynamicTemplate {
        let live = Arc::downgrade(self);
        let read = move |arguments: Arguments, ctx: Context| {
            let path = arguments.text("path").unwrap_or_default().into();
            read_if_live(live.clone(), ctx, path)
        };
        let mut template = DynamicTemplate::new("skill://{+path}", "skill-file", read)
            .description("A skill's file, listed in the skill's entry");
        if self.needs_no_state() {
            template.handler = template.handler.without_state();
        }
        template
    }

    /// Replaces the resources that differ, and notifies the clients that can see a skill about each of its changed
    /// files.
    fn notify_clients(self: &Arc<Self>, before: &Catalog, after: &Catalog, server: &ServerHandle) {
        let is_gone = |skill: &&Arc<ServedSkill>| after.skill(&skill.path).is_none();
        let edited = server.resources().edit(|resources| {
            for skill in before.skills().filter(is_gone) {
                resources.remove(&skill.uri);
            }
            for skill in after.skills() {
                let is_listed_alike = |old: &Arc<ServedSkill>| old.description == skill.description;
                if !before.skill(&skill.path).is_some_and(is_listed_alike) {
                    resources.replace(self.resource(skill));
                }
            }
        });
        if let Err(error) = edited {
            tracing::error!(%error, "the resources of changed skills cannot be listed");
        }
        for skill in before.skills().filter(is_gone).chain(after.skills()) {
            let changed = changed_files(before.skill(&skill.path), after.skill(&skill.path));
            if !changed.is_empty() {
                let notifier = self.notifier(&skill.path, server);
                for uri in changed {
                    notifier.resource_updated(uri);
                }
            }
        }
    }

    /// Returns a notifier for the callers who can see the skill at this path.
    fn notifier(&self, path: &str, server: &ServerHandle) -> Notifier {
        let notifier = server.notify();
        if !self.visible_if.is_restricted() {
            return notifier;
        }
        let (visible_if, path) = (self.visible_if.clone(), path.to_owned());
        notifier.for_callers(move |caller| visible_if.is_visible_to(caller, &path))
    }
}

/// Reads a file, unless the server has stopped.
async fn read_if_live(
    live: Weak<LiveSkills>,
    ctx: Context,
    path: Arc<str>,
) -> Result<ResourceContents> {
    let live = live
        .upgrade()
        .ok_or_else(HandlerError::resource_not_found)?;
    live.read(&ctx, &path).await
}

/// Reads and checks the skills in all directories. Returns the valid skills together with the fixed skills, and a
/// message for each problem with the other skills.
fn read_all(
    fixed: &[Arc<ServedSkill>],
    directories: &[PathBuf],
) -> (Vec<Arc<ServedSkill>>, Vec<String>) {
    let (mut all, mut problems) = (fixed.to_vec(), Vec::new());
    for directory in directories {
        let found = folder::read(directory, &directory.display().to_string());
        problems.extend(found.problems);
        for skill in found.skills {
            match skill.check() {
                Ok(skill) => all.push(Arc::new(ServedSkill::new(skill))),
                Err(found) => problems.extend(found),
            }
        }
    }
    let problems = problems.iter().map(ToString::to_string);
    (all, problems.collect())
}

/// Returns the skills to serve after a change: those that were found, and those that were served before and still exist
/// but are currently invalid. Adds a message for each path shared by two of the skills that were found; such skills
/// are not used.
fn succeed(
    before: &Catalog,
    found: impl IntoIterator<Item = Arc<ServedSkill>>,
    directories: &[PathBuf],
    problems: &mut Vec<String>,
) -> BTreeMap<String, Arc<ServedSkill>> {
    let (mut next, mut twice) = (BTreeMap::new(), BTreeSet::new());
    for skill in found {
        if let Some(other) = next.insert(skill.path.clone(), skill) {
            twice.insert(other.path.clone());
        }
    }
    for path in twice {
        next.remove(&path);
        problems.push(format!("skill `{path}` exists twice"));
    }
    for skill in before.skills() {
        if !next.contains_key(&skill.path) && !is_deleted(directories, &skill.path) {
            next.insert(skill.path.clone(), Arc::clone(skill));
        }
    }
    next
}

/// Returns `true` if none of the directories has a skill at this path. If a directory cannot be searched, its skills
/// are not considered deleted.
fn is_deleted(directories: &[PathBuf], path: &str) -> bool {
    let is_gone = |kind| matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
    directories.iter().all(|directory| {
        let file = directory.join(path).join(SKILL_FILE).symlink_metadata();
        directory.is_dir() && file.is_err_and(|error| is_gone(error.kind()))
    })
}

/// Reads all directories again and replaces the skills that have changed.
fn reload(
    live: &Arc<LiveSkills>,
    fixed: &[Arc<ServedSkill>],
    directories: &[PathBuf],
    server: &ServerHandle,
) {
    let before = live.catalog();
    let (found, mut problems) = read_all(fixed, directories);
    let next = succeed(&before, found, directories, &mut problems);
    let catalog = Catalog::new(next.into_values()).map(Arc::new);
    let catalog = catalog.map_err(|found| problems.extend(found));
    for problem in problems {
        tracing::error!(
            problem,
            "the skill directories contain a mistake; a skill that has become invalid keeps its previous content"
        );
    }
    let Ok(catalog) = catalog else { return };
    live.replace_catalog(Arc::clone(&catalog));
    live.notify_clients(&before, &catalog, server);
}

/// Returns the URIs of the files that differ between two versions of a skill.
fn changed_files<'s>(
    old: Option<&'s Arc<ServedSkill>>,
    new: Option<&'s Arc<ServedSkill>>,
) -> BTreeSet<&'s str> {
    let files = |skill: Option<&'s Arc<ServedSkill>>| skill.map_or(&[][..], |skill| &skill.files);
    let (old, new) = (files(old), files(new));
    let removed = old.iter().filter(|file| !new.contains(file));
    let added = new.iter().filter(|file| !old.contains(file));
    removed.chain(added).map(|file| &*file.uri).collect()
}

// --- Watches skill directories and reports each burst of changes.

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

    use crate::skills::live::*;

    /// Time after which a test gives up.
    const TEST_TIME_LIMIT: Duration = Duration::from_secs(30);

    #[test]
    fn changes_are_reported_even_if_they_never_stop() {
        let (sender, changes) = mpsc::sync_channel(1);
        let (reloaded, reloads) = mpsc::channel();
        thread::spawn(move || {
            follow(&changes, || {
                let _ = reloaded.send(());
            });
        });
        thread::spawn(move || while sender.send(()).is_ok() {});
        for _ in 0..2 {
            assert_eq!(reloads.recv_timeout(TEST_TIME_LIMIT), Ok(()));
        }
    }

    #[test]
    fn following_changes_ends_when_the_watcher_is_dropped() {
        let (watcher, changes) = watch(&[std::env::temp_dir()]).unwrap();
        let (ended, end) = mpsc::channel();
        let following = thread::spawn(move || {
            follow(&changes, || {});
            let _ = ended.send(());
        });
        drop(watcher);
        assert_eq!(end.recv_timeout(TEST_TIME_LIMIT), Ok(()));
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
    fn reads_and_changes_of_hidden_files_are_ignored() {
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
