//! Starts serving skills, and replaces skills when their directories change.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::thread;

use mcp_skills::folder;
use mcp_skills::skill::SKILL_FILE;

use crate::context::{Context, Notifier, ServerHandle};
use crate::error::{Error, ErrorKind};
use crate::extension::skills::answers::LiveSkills;
use crate::extension::skills::catalog::Catalog;
use crate::extension::skills::skill::ServedSkill;
use crate::extension::skills::watch;
use crate::handler::dynamic::{Arguments, DynamicResource, DynamicTemplate};
use crate::handler::handler_error::{HandlerError, Result};
use crate::types::ResourceContents;

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
        let watching = watch::watch(&directories);
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
        let (live, server) = (Arc::downgrade(self), Arc::downgrade(&server.0));
        let work = move || {
            watch::follow(&changes, || {
                if let (Some(live), Some(server)) = (live.upgrade(), server.upgrade()) {
                    reload(&live, &fixed, &directories, &ServerHandle(server));
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
