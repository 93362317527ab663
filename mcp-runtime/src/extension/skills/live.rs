//! Starts to serve skills, and replaces those whose directories change.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::thread;

use mcp_skills::folder;

use crate::context::{Context, ServerHandle};
use crate::error::{Error, ErrorKind};
use crate::extension::skills::answers::LiveSkills;
use crate::extension::skills::catalog::Catalog;
use crate::extension::skills::skill::ServedSkill;
use crate::extension::skills::watch::Watched;
use crate::handler::dynamic::{Arguments, DynamicResource, DynamicTemplate};
use crate::handler::handler_error::{HandlerError, Result};
use crate::types::ResourceContents;

impl LiveSkills {
    /// Reads all skills, serves their files as resources, and watches the directories. `fixed` are the skills that do not
    /// change, and a message for each that is invalid.
    pub(super) fn start(
        self: &Arc<Self>,
        (fixed, mut problems): (Vec<Arc<ServedSkill>>, Vec<String>),
        directories: Vec<PathBuf>,
        server: &ServerHandle,
    ) -> std::result::Result<(), Error> {
        let fail =
            |problems: Vec<String>| Error::new(ErrorKind::Configuration, problems.join("\n"));
        // The directories are watched before they are read, so that no change in between is missed.
        let watching = Watched::new(&directories);
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
        let cannot_watch = "the directories of skills cannot be watched";
        let watched =
            watching.map_err(|error| Error::new(ErrorKind::Io, cannot_watch).with_source(error))?;
        let (live, server) = (Arc::downgrade(self), server.clone());
        let work = move || {
            let is_needed = || live.strong_count() > 0;
            watched.follow(is_needed, || reload(&live, &fixed, &directories, &server));
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
        let resource = DynamicResource::new(&skill.uri, &skill.name, move |ctx| {
            read_if_live(live.clone(), ctx, Arc::clone(&file))
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
        let read = move |arguments: Arguments, ctx: Context| {
            let path = arguments.text("path").unwrap_or_default().into();
            read_if_live(live.clone(), ctx, path)
        };
        DynamicTemplate::new("skill://{+path}", "skill-file", read)
            .description("A file of a skill, named in the skill's entry")
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

/// Reads and checks the skills in all directories. Returns them and the fixed ones, and a message for each of the others.
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

/// Reads all directories again, and replaces the skills that have changed.
fn reload(
    live: &Weak<LiveSkills>,
    fixed: &[Arc<ServedSkill>],
    directories: &[PathBuf],
    server: &ServerHandle,
) {
    let Some(live) = live.upgrade() else { return };
    let before = live.catalog();
    let (skills, mut problems) = read_all(fixed, directories);
    let by_path = skills.into_iter().map(|skill| (skill.path.clone(), skill));
    let mut next: BTreeMap<String, Arc<ServedSkill>> = by_path.collect();
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
    live.replace_catalog(Arc::clone(&catalog));
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
            let is_listed_alike = |old: &Arc<ServedSkill>| old.description == skill.description;
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
