//! All skills of a server at one point in time, and the answers about them.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::extension::skills::skill::{CheckedSkill, SkillFile};

/// The skills by path, which is also the order of the list.
#[derive(Debug, Default)]
pub(super) struct Catalog {
    skills: BTreeMap<String, Arc<CheckedSkill>>,
    /// The files by path, each with its skill.
    files: BTreeMap<String, (Arc<CheckedSkill>, Arc<SkillFile>)>,
}

/// Decides which skills a caller sees.
pub(super) type IsVisible<'a> = &'a dyn Fn(&CheckedSkill) -> bool;

/// A page of a list.
pub(super) struct CatalogPage {
    pub(super) items: Vec<Value>,
    pub(super) next_cursor: Option<String>,
}

impl Catalog {
    /// Creates the catalog.
    ///
    /// # Errors
    ///
    /// Returns a message for each path that two skills have, and for each skill inside of another one.
    pub(super) fn new(
        skills: impl IntoIterator<Item = Arc<CheckedSkill>>,
    ) -> Result<Self, Vec<String>> {
        let mut catalog = Self::default();
        let mut problems = Vec::new();
        for skill in skills {
            for file in &skill.files {
                let entry = (Arc::clone(&skill), Arc::clone(file));
                catalog.files.insert(file.path.clone(), entry);
            }
            let path = skill.path.clone();
            if catalog.skills.insert(path.clone(), skill).is_some() {
                problems.push(format!("skill `{path}` exists twice"));
            }
        }
        for path in catalog.skills.keys() {
            let mut above = path.as_str();
            while let Some((directory, _)) = above.rsplit_once('/') {
                if catalog.skills.contains_key(directory) {
                    problems.push(format!("skill `{path}` is inside of skill `{directory}`"));
                }
                above = directory;
            }
        }
        if problems.is_empty() {
            Ok(catalog)
        } else {
            Err(problems)
        }
    }

    pub(super) fn skills(&self) -> impl Iterator<Item = &Arc<CheckedSkill>> {
        self.skills.values()
    }

    pub(super) fn skill(&self, path: &str) -> Option<&Arc<CheckedSkill>> {
        self.skills.get(path)
    }

    /// Returns the entry of the skill whose `SKILL.md` has this URI.
    pub(super) fn entry(&self, uri: &str, is_visible: IsVisible<'_>) -> Option<&Value> {
        let mut skills = self.skills.values();
        let skill = skills.find(|skill| skill.uri == uri && is_visible(skill))?;
        Some(&skill.entry)
    }

    /// Returns the file at this path.
    pub(super) fn file(&self, path: &str, is_visible: IsVisible<'_>) -> Option<&Arc<SkillFile>> {
        let (skill, file) = self.files.get(path)?;
        is_visible(skill).then_some(file)
    }

    /// Returns a page of entries that begins after the skill with this path, whether or not it still exists.
    pub(super) fn page(
        &self,
        after: Option<&str>,
        size: usize,
        is_visible: IsVisible<'_>,
    ) -> CatalogPage {
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        let skills = self.skills.range::<str, _>((start, Bound::Unbounded));
        let mut skills = skills.filter(|(_, skill)| is_visible(skill));
        let page: Vec<_> = skills.by_ref().take(size).collect();
        let last = page.last().map(|(path, _)| (*path).clone());
        CatalogPage {
            items: page
                .into_iter()
                .map(|(_, skill)| skill.entry.clone())
                .collect(),
            next_cursor: last.filter(|_| skills.next().is_some()),
        }
    }

    /// Returns a page of what is directly in the directory with this URI, or `None` if there is no such directory.
    pub(super) fn children(
        &self,
        uri: &str,
        (after, size): (Option<&str>, usize),
        is_visible: IsVisible<'_>,
    ) -> Option<CatalogPage> {
        let directory = uri
            .strip_prefix("skill://")
            .filter(|path| !path.is_empty())?;
        let depth = directory.split('/').count();
        let mut children = BTreeMap::new();
        let skills = self.skills.values().filter(|skill| is_visible(skill));
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
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut rest = children.range::<str, _>((start, Bound::Unbounded));
        let page: Vec<_> = rest.by_ref().take(size).collect();
        let last = page.last().map(|(uri, _)| (*uri).clone());
        Some(CatalogPage {
            items: page.into_iter().map(|(_, child)| child.clone()).collect(),
            next_cursor: last.filter(|_| rest.next().is_some()),
        })
    }
}

/// Returns a file as a resource.
fn describe_file(file: &SkillFile) -> Value {
    json!({
        "uri": file.uri,
        "name": file.name,
        "mimeType": file.mime_type,
        "size": file.size(),
    })
}
