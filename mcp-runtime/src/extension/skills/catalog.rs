//! All of a server's skills at a point in time, and answers to requests about them.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::extension::ExtensionResult;
use crate::extension::skills::rendered::RenderedPages;
use crate::extension::skills::skill::{ServedFile, ServedSkill};
use crate::handler::handler_error::Result;

/// Maximum number of entries on a page.
pub(super) const PAGE: usize = 100;

/// The skills, keyed by path, which also determines the order of the list.
#[derive(Debug, Default)]
pub(super) struct Catalog {
    skills: BTreeMap<String, Arc<ServedSkill>>,
    /// The files, keyed by path, each with its skill.
    files: BTreeMap<String, (Arc<ServedSkill>, Arc<ServedFile>)>,
    pages: RenderedPages,
}

/// Determines which skills a caller sees: all of them, or only those for which the function returns `true`.
pub(super) type Sight<'a> = Option<&'a dyn Fn(&ServedSkill) -> bool>;

impl Catalog {
    /// Creates the catalog.
    ///
    /// # Errors
    ///
    /// Returns a message for each skill that conflicts with the skills before it.
    pub(super) fn new(
        skills: impl IntoIterator<Item = Arc<ServedSkill>>,
    ) -> std::result::Result<Self, Vec<String>> {
        let mut catalog = Self::default();
        let refused = skills.into_iter().map(|skill| catalog.insert(skill));
        let problems: Vec<_> = refused.filter_map(std::result::Result::err).collect();
        if problems.is_empty() {
            Ok(catalog)
        } else {
            Err(problems)
        }
    }

    /// Returns a catalog with the same skills, to which further skills can be added.
    pub(super) fn copy(&self) -> Self {
        Self {
            skills: self.skills.clone(),
            files: self.files.clone(),
            pages: RenderedPages::default(),
        }
    }

    /// Adds a skill. All skills must be added before the first page of the list is rendered.
    ///
    /// # Errors
    ///
    /// Fails if the catalog already contains a skill with the same path, or a skill whose directory contains or is
    /// contained in this skill's directory.
    pub(super) fn insert(&mut self, skill: Arc<ServedSkill>) -> std::result::Result<(), String> {
        let path = &*skill.path;
        if self.skills.contains_key(path) {
            return Err(format!("skill `{path}` exists twice"));
        }
        let is_inside = |(inner, outer)| format!("skill `{inner}` is inside skill `{outer}`");
        let mut above = path;
        while let Some((directory, _)) = above.rsplit_once('/') {
            if self.skills.contains_key(directory) {
                return Err(is_inside((path, directory)));
            }
            above = directory;
        }
        let below = format!("{path}/");
        let mut next = self
            .skills
            .range::<str, _>((Bound::Included(&*below), Bound::Unbounded));
        let inner = next.next().filter(|(inner, _)| inner.starts_with(&below));
        if let Some((inner, _)) = inner {
            return Err(is_inside((inner, path)));
        }
        for file in &skill.files {
            let entry = (Arc::clone(&skill), Arc::clone(file));
            self.files.insert(file.path.clone(), entry);
        }
        self.skills.insert(skill.path.clone(), skill);
        Ok(())
    }

    pub(super) fn skills(&self) -> impl Iterator<Item = &Arc<ServedSkill>> {
        self.skills.values()
    }

    pub(super) fn skill(&self, path: &str) -> Option<&Arc<ServedSkill>> {
        self.skills.get(path)
    }

    /// Returns the entry of the skill whose `SKILL.md` has this URI.
    pub(super) fn entry(&self, uri: &str, sight: Sight<'_>) -> Option<&Value> {
        let mut skills = self.skills.values();
        let skill = skills.find(|skill| skill.uri == uri && shows(sight, skill))?;
        Some(&skill.entry)
    }

    /// Returns the file at this path.
    pub(super) fn file(&self, path: &str, sight: Sight<'_>) -> Option<&Arc<ServedFile>> {
        let (skill, file) = self.files.get(path)?;
        shows(sight, skill).then_some(file)
    }

    /// Returns a page of entries that begins after the skill with this path, even if that skill no longer exists.
    ///
    /// # Errors
    ///
    /// Fails if the page cannot be written as JSON.
    pub(super) fn list(&self, after: Option<&str>, sight: Sight<'_>) -> Result<ExtensionResult> {
        let start = after.map_or(0, |after| {
            let before = (Bound::Unbounded, Bound::Included(after));
            self.skills.range::<str, _>(before).count()
        });
        let visible: Option<Box<[bool]>> =
            sight.map(|sees| self.skills.values().map(|skill| sees(skill)).collect());
        let is_visible = |index: usize| {
            visible
                .as_ref()
                .is_none_or(|visible| visible.get(index) == Some(&true))
        };
        let render = || {
            let rest = self.skills.values().enumerate().skip(start);
            let rest = rest.filter(|(index, _)| is_visible(*index));
            let rest = rest.map(|(_, skill)| (skill.path.clone(), skill.entry.clone()));
            page("skills", "skills", rest)
        };
        // Clients can begin at any position, but a page is kept only if another page's cursor leads to it.
        let before = (0..start).filter(|index| is_visible(*index)).count();
        if before.is_multiple_of(PAGE) {
            self.pages.get((visible.clone(), start), render)
        } else {
            render()
        }
    }

    /// Returns a page of the entries directly in the directory with this URI, or `None` if there is no such directory.
    pub(super) fn children(
        &self,
        uri: &str,
        after: Option<&str>,
        sight: Sight<'_>,
    ) -> Option<Result<ExtensionResult>> {
        let directory = uri
            .strip_prefix("skill://")
            .filter(|path| !path.is_empty())?;
        let depth = directory.split('/').count();
        let mut children = BTreeMap::new();
        let skills = self.skills.values().filter(|skill| shows(sight, skill));
        for file in skills.flat_map(|skill| &skill.files) {
            let below = file.uri.strip_prefix(uri);
            let Some(below) = below.and_then(|below| below.strip_prefix('/')) else {
                continue;
            };
            match below.split_once('/') {
                None => children.insert(file.uri.clone(), describe_file(file)),
                Some((inner, _)) => {
                    let uri = format!("{uri}/{inner}");
                    let name = file.path.split('/').nth(depth);
                    let directory =
                        json!({"uri": uri, "name": name, "mimeType": "inode/directory"});
                    children.insert(uri, directory)
                }
            };
        }
        if children.is_empty() {
            return None;
        }
        let rest = children
            .into_iter()
            .skip_while(|(uri, _)| after.is_some_and(|after| &**uri <= after));
        Some(page("resources", "directory", rest))
    }
}

fn shows(sight: Sight<'_>, skill: &ServedSkill) -> bool {
    sight.is_none_or(|sees| sees(skill))
}

/// Returns a file as a resource.
fn describe_file(file: &ServedFile) -> Value {
    json!({
        "uri": file.uri,
        "name": file.name,
        "mimeType": file.mime_type,
        "size": file.size(),
    })
}

/// Creates a result from the first items, each of which has a key, and the cursor for the next page.
fn page(
    member: &str,
    cursor_prefix: &str,
    items: impl Iterator<Item = (String, Value)>,
) -> Result<ExtensionResult> {
    let mut items = items.peekable();
    let (keys, values): (Vec<String>, Vec<Value>) = items.by_ref().take(PAGE).unzip();
    let mut members = Map::new();
    members.insert(member.to_owned(), values.into());
    if let (Some(_), Some(last)) = (items.peek(), keys.last()) {
        let cursor = format!("{cursor_prefix}:{last}");
        members.insert("nextCursor".to_owned(), cursor.into());
    }
    ExtensionResult::new(members)
}
