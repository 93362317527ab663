//! The skills of a running server, which change when their directories do.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::thread;
use std::time::Duration;

use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};
use serde_json::json;

use crate::context::{Caller, ServerHandle};
use crate::error::{Error, ErrorKind};
use crate::extension::ExtensionResult;
use crate::extension::skills::catalog::Catalog;
use crate::extension::skills::skill::{CheckedSkill, Skill, SkillFile};
use crate::extension::skills::{MAX_TEXT, UriParams, VisibleIf, after, folder, invalid, page};
use crate::handler::dynamic::{Arguments, DynamicResource, DynamicTemplate};
use crate::handler::handler_error::{HandlerError, Result};
use crate::types::ResourceContents;

/// Time without changes after which a directory is read again.
const QUIET: Duration = Duration::from_millis(100);

/// The skills of a running server.
pub(super) struct LiveSkills {
    catalog: RwLock<Arc<Catalog>>,
    visible_if: Option<Arc<VisibleIf>>,
}

impl LiveSkills {
    pub(super) fn new(visible_if: Option<Arc<VisibleIf>>) -> Arc<Self> {
        Arc::new(Self {
            catalog: RwLock::default(),
            visible_if,
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
        let visible_if = self.visible_if.as_ref();
        visible_if.is_none_or(|visible_if| visible_if(caller, &skill.path))
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
        let watching = watch(&directories);
        let (checked, problems) = read_all(&skills, &directories);
        if !problems.is_empty() {
            return Err(fail(problems));
        }
        let catalog = Arc::new(Catalog::new(checked).map_err(fail)?);
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
        let (live, server) = (Arc::downgrade(self), server.clone());
        let work = move || {
            let _watcher = watcher;
            follow(&live, &changes, || {
                reload(&live, &skills, &directories, &server);
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
        match self.visible_if.clone() {
            Some(visible_if) => resource.visible_if(move |caller| visible_if(caller, &path)),
            None => resource,
        }
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

/// Watches directories. The receiver gets a message for each change.
fn watch(directories: &[PathBuf]) -> notify::Result<(RecommendedWatcher, Receiver<()>)> {
    let (sender, changes) = mpsc::channel();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        // Reading a file is not a change. After an error, changes may have been missed.
        if event.map_or(true, |event| !event.kind.is_access()) {
            let _ = sender.send(());
        }
    })?;
    for directory in directories {
        watcher.watch(directory, RecursiveMode::Recursive)?;
    }
    Ok((watcher, changes))
}

/// Reads and checks all skills. Returns those that follow the rules, and a message for each of the others.
fn read_all(skills: &[Skill], directories: &[PathBuf]) -> (Vec<Arc<CheckedSkill>>, Vec<String>) {
    let (mut all, mut problems) = (skills.to_vec(), Vec::new());
    for directory in directories {
        let (found, unreadable) = folder::read(directory);
        all.extend(found);
        problems.extend(unreadable);
    }
    let mut checked = Vec::with_capacity(all.len());
    for skill in all {
        let path = skill.path.clone();
        match CheckedSkill::new(skill) {
            Ok(skill) => checked.push(Arc::new(skill)),
            Err(problem) => problems.push(format!("skill `{path}`: {problem}")),
        }
    }
    (checked, problems)
}

/// Calls `reload` after each burst of changes, until the server is dropped.
fn follow(live: &Weak<LiveSkills>, changes: &Receiver<()>, reload: impl Fn()) {
    loop {
        match changes.recv_timeout(Duration::from_secs(1)) {
            Ok(()) => {
                while changes.recv_timeout(QUIET).is_ok() {}
                reload();
            }
            Err(RecvTimeoutError::Timeout) if live.strong_count() > 0 => {}
            Err(_) => return,
        }
    }
}

/// Reads all directories again, and replaces the skills that have changed.
fn reload(
    live: &Weak<LiveSkills>,
    skills: &[Skill],
    directories: &[PathBuf],
    server: &ServerHandle,
) {
    let Some(live) = live.upgrade() else { return };
    let before = live.catalog();
    let (checked, mut problems) = read_all(skills, directories);
    let by_path = checked.into_iter().map(|skill| (skill.path.clone(), skill));
    let mut next: BTreeMap<String, Arc<CheckedSkill>> = by_path.collect();
    // A skill that cannot be read any more stays as it was. If only some are found, nothing tells one that was deleted from
    // one that is being written, so a problem keeps all of them.
    if !problems.is_empty() {
        for skill in before.skills() {
            next.entry(skill.path.clone())
                .or_insert_with(|| Arc::clone(skill));
        }
    }
    let catalog = Catalog::new(next.into_values()).map(Arc::new);
    let catalog = catalog.map_err(|found| problems.extend(found));
    for problem in problems {
        tracing::error!(problem, "a changed skill was left as it was");
    }
    let Ok(catalog) = catalog else { return };
    *live.catalog.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&catalog);
    notify_clients(&live, &before, &catalog, server);
}

/// Replaces the resources that are different, and notifies clients of each file that has changed.
fn notify_clients(
    live: &Arc<LiveSkills>,
    before: &Catalog,
    after: &Catalog,
    server: &ServerHandle,
) {
    let edited = server.resources().edit(|resources| {
        for skill in before
            .skills()
            .filter(|skill| after.skill(&skill.path).is_none())
        {
            resources.remove(&skill.uri);
        }
        for skill in after.skills() {
            let is_listed_alike = |old: &Arc<CheckedSkill>| old.description == skill.description;
            if !before.skill(&skill.path).is_some_and(is_listed_alike) {
                resources.replace(live.resource(skill));
            }
        }
    });
    if let Err(error) = edited {
        tracing::error!(%error, "the resources of changed skills cannot be listed");
    }
    let notifier = server.notify();
    for skill in after.skills() {
        let Some(old) = before.skill(&skill.path) else {
            continue;
        };
        for file in &skill.files {
            if !old.files.contains(file) {
                notifier.resource_updated(&file.uri);
            }
        }
    }
}
