//! The skills of a running server, which change when their directories do.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock, PoisonError, RwLock, Weak};
use std::thread;

use notify::RecommendedWatcher;
use serde_json::json;

use crate::context::{Caller, Notifier, ServerHandle};
use crate::error::{Error, ErrorKind};
use crate::extension::ExtensionResult;
use crate::extension::skills::catalog::Catalog;
use crate::extension::skills::skill::{CheckedSkill, SKILL_FILE, Skill, SkillFile};
use crate::extension::skills::{MAX_TEXT, UriParams, after, folder, invalid, page, watch};
use crate::extension::visibility::KeyVisibility;
use crate::handler::dynamic::{Arguments, DynamicResource, DynamicTemplate};
use crate::handler::handler_error::{HandlerError, Result};
use crate::types::ResourceContents;

/// The skills of a running server.
pub(super) struct LiveSkills {
    catalog: RwLock<Arc<Catalog>>,
    visible_if: KeyVisibility,
    /// Watches the directories. Dropping it ends the thread that follows their changes.
    watcher: OnceLock<RecommendedWatcher>,
}

impl LiveSkills {
    pub(super) fn new(visible_if: KeyVisibility) -> Arc<Self> {
        Arc::new(Self {
            catalog: RwLock::default(),
            visible_if,
            watcher: OnceLock::new(),
        })
    }

    /// Returns a page of `skills/list`.
    pub(super) fn list(
        &self,
        caller: &Caller,
        cursor: Option<&str>,
        size: usize,
    ) -> Result<ExtensionResult> {
        let catalog = self.catalog();
        let found = catalog.page(after("skills", cursor)?, size, &|skill| {
            self.shows(skill, caller)
        });
        page("skills", "skills", found)
    }

    /// Returns the result of `skills/get`.
    pub(super) fn entry(&self, caller: &Caller, uri: &str) -> Result<ExtensionResult> {
        let catalog = self.catalog();
        let entry = catalog.entry(uri, &|skill| self.shows(skill, caller));
        let entry = entry.ok_or_else(|| invalid("there is no skill with this URI"))?;
        ExtensionResult::new(json!({ "skill": entry }))
    }

    /// Returns a page of `resources/directory/read`.
    pub(super) fn children(
        &self,
        caller: &Caller,
        params: &UriParams,
        size: usize,
    ) -> Result<ExtensionResult> {
        let uri = params.uri.as_str();
        let after = after("directory", params.cursor.as_deref())?;
        let catalog = self.catalog();
        let found = (uri.len() <= MAX_TEXT)
            .then(|| catalog.children(uri, (after, size), &|skill| self.shows(skill, caller)));
        let found = found
            .flatten()
            .ok_or_else(|| invalid("there is no directory with this URI"))?;
        page("resources", "directory", found)
    }

    /// Returns the contents of the file at a path.
    fn read(&self, caller: &Caller, path: &str) -> Result<ResourceContents> {
        let catalog = self.catalog();
        let file = catalog.file(path, &|skill| self.shows(skill, caller));
        file.map(|file| contents(file))
            .ok_or_else(HandlerError::resource_not_found)
    }

    fn shows(&self, skill: &CheckedSkill, caller: &Caller) -> bool {
        self.visible_if.is_visible_to(caller, &skill.path)
    }

    fn catalog(&self) -> Arc<Catalog> {
        let catalog = self.catalog.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&catalog)
    }

    /// Reads all skills, serves their files as resources, and watches the directories.
    pub(super) fn start(
        self: &Arc<Self>,
        skills: Vec<Skill>,
        directories: Vec<PathBuf>,
        server: &ServerHandle,
    ) -> std::result::Result<(), Error> {
        let fail =
            |problems: Vec<String>| Error::new(ErrorKind::Configuration, problems.join("\n"));
        // The directories are watched before they are read, so that no change in between is missed.
        let watching = watch::watch(&directories);
        let (in_memory, mut problems) = check(skills);
        let (found, invalid) = read_directories(&directories);
        problems.extend(invalid);
        if !problems.is_empty() {
            return Err(fail(problems));
        }
        let all = in_memory.iter().cloned().chain(found);
        let catalog = Arc::new(Catalog::new(all).map_err(fail)?);
        for skill in catalog.skills() {
            server.resources().insert(self.resource(skill))?;
        }
        server.resource_templates().insert(self.template())?;
        *self.catalog.write().unwrap_or_else(PoisonError::into_inner) = catalog;
        if directories.is_empty() {
            return Ok(());
        }
        let cannot_watch = "the directories of skills cannot be watched";
        let (watcher, changes) =
            watching.map_err(|error| Error::new(ErrorKind::Io, cannot_watch).with_source(error))?;
        let _ = self.watcher.set(watcher);
        // The server owns the skills, so the thread must not own the server.
        let (live, server) = (Arc::downgrade(self), Arc::downgrade(&server.0));
        let work = move || {
            watch::follow(&changes, || {
                if let (Some(live), Some(server)) = (live.upgrade(), server.upgrade()) {
                    reload(&live, &in_memory, &directories, &ServerHandle(server));
                }
            });
        };
        let thread = thread::Builder::new().name("skills".to_owned()).spawn(work);
        thread
            .map(drop)
            .map_err(|error| Error::new(ErrorKind::Io, cannot_watch).with_source(error))
    }

    /// Returns the resource for a skill's `SKILL.md`.
    fn resource(self: &Arc<Self>, skill: &CheckedSkill) -> DynamicResource {
        let path = skill.path.clone();
        let file = format!("{path}/SKILL.md");
        let live = Arc::downgrade(self);
        let resource = DynamicResource::new(&skill.uri, &skill.name, move |ctx| {
            let found = read_if_live(&live, ctx.caller(), &file);
            async move { found }
        });
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
        let read = move |arguments: Arguments, ctx: crate::context::Context| {
            let path = arguments.text("path").unwrap_or_default();
            let found = read_if_live(&live, ctx.caller(), path);
            async move { found }
        };
        DynamicTemplate::new("skill://{+path}", "skill-file", read)
            .description("A file of a skill, named in the skill's entry")
    }

    /// Replaces the resources that are different, and notifies the clients that see a skill of each file that has changed.
    fn notify_clients(self: &Arc<Self>, before: &Catalog, after: &Catalog, server: &ServerHandle) {
        let is_gone = |skill: &&Arc<CheckedSkill>| after.skill(&skill.path).is_none();
        let edited = server.resources().edit(|resources| {
            for skill in before.skills().filter(is_gone) {
                resources.remove(&skill.uri);
            }
            for skill in after.skills() {
                let is_listed_alike =
                    |old: &Arc<CheckedSkill>| old.description == skill.description;
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

    /// Returns a notifier for the callers who see the skill at this path.
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
fn read_if_live(live: &Weak<LiveSkills>, caller: &Caller, path: &str) -> Result<ResourceContents> {
    let live = live
        .upgrade()
        .ok_or_else(HandlerError::resource_not_found)?;
    live.read(caller, path)
}

fn contents(file: &SkillFile) -> ResourceContents {
    let contents = match std::str::from_utf8(&file.contents) {
        Ok(text) => ResourceContents::text(file.uri.clone(), text),
        Err(_) => ResourceContents::blob(file.uri.clone(), &file.contents),
    };
    contents.with_mime_type(file.mime_type)
}

/// Checks skills. Returns those that follow the rules, and a message for each of the others.
fn check(skills: Vec<Skill>) -> (Vec<Arc<CheckedSkill>>, Vec<String>) {
    let (mut checked, mut problems) = (Vec::with_capacity(skills.len()), Vec::new());
    for skill in skills {
        let path = skill.path.clone();
        match CheckedSkill::new(skill) {
            Ok(skill) => checked.push(Arc::new(skill)),
            Err(problem) => problems.push(format!("skill `{path}`: {problem}")),
        }
    }
    (checked, problems)
}

/// Reads and checks the skills in directories. Returns those that follow the rules, and a message for each of the others.
fn read_directories(directories: &[PathBuf]) -> (Vec<Arc<CheckedSkill>>, Vec<String>) {
    let (mut found, mut problems) = (Vec::new(), Vec::new());
    for directory in directories {
        let (skills, unreadable) = folder::read(directory);
        found.extend(skills);
        problems.extend(unreadable);
    }
    let (checked, invalid) = check(found);
    problems.extend(invalid);
    (checked, problems)
}

/// Returns the skills to serve after a change: those that were found, and those that were served before and still exist
/// but cannot be used. Adds a message for each path that two skills have; neither of them is new.
fn succeed(
    before: &Catalog,
    found: impl IntoIterator<Item = Arc<CheckedSkill>>,
    directories: &[PathBuf],
    problems: &mut Vec<String>,
) -> BTreeMap<String, Arc<CheckedSkill>> {
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

/// Returns `true` if no directory has a skill at this path. If a directory cannot be searched, nothing in it counts as
/// deleted.
fn is_deleted(directories: &[PathBuf], path: &str) -> bool {
    let is_gone = |kind| matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
    directories.iter().all(|directory| {
        let file = directory.join(path).join(SKILL_FILE).symlink_metadata();
        directory.is_dir() && file.is_err_and(|error| is_gone(error.kind()))
    })
}

/// Reads all directories again, and replaces the skills that have changed.
fn reload(
    live: &Arc<LiveSkills>,
    in_memory: &[Arc<CheckedSkill>],
    directories: &[PathBuf],
    server: &ServerHandle,
) {
    let before = live.catalog();
    let (found, mut problems) = read_directories(directories);
    let found = in_memory.iter().cloned().chain(found);
    let next = succeed(&before, found, directories, &mut problems);
    let catalog = Catalog::new(next.into_values()).map(Arc::new);
    let catalog = catalog.map_err(|found| problems.extend(found));
    for problem in problems {
        tracing::error!(
            problem,
            "a changed skill cannot be served; what was served at its path stays as it was"
        );
    }
    let Ok(catalog) = catalog else { return };
    *live.catalog.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&catalog);
    live.notify_clients(&before, &catalog, server);
}

/// Returns the URIs of the files that differ between two versions of a skill.
fn changed_files<'s>(
    old: Option<&'s Arc<CheckedSkill>>,
    new: Option<&'s Arc<CheckedSkill>>,
) -> BTreeSet<&'s str> {
    let files = |skill: Option<&'s Arc<CheckedSkill>>| skill.map_or(&[][..], |skill| &skill.files);
    let (old, new) = (files(old), files(new));
    let removed = old.iter().filter(|file| !new.contains(file));
    let added = new.iter().filter(|file| !old.contains(file));
    removed.chain(added).map(|file| &*file.uri).collect()
}
