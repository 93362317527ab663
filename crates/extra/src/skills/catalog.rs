//! All of a server's skills at a point in time, and answers to requests about them.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::Bound;
use std::sync::{Arc, Mutex, OnceLock};

use bytes::Bytes;
use mcp_core::extension::ExtensionResult;
use mcp_core::handler::handler_error::Result;
use mcp_core::sync::lock;
use mcp_schema::template::percent_encode;
use mcp_skills::name::join;
use mcp_skills::problem::SkillProblem;
use mcp_skills::skill::{CheckedSkill, CheckedSkillFile, SKILL_FILE, SkillFiles};
use serde_json::{Map, Value, json};

/// Maximum number of entries on a page.
pub(super) const MAX_PAGE_ENTRIES: usize = 100;

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
        if before.is_multiple_of(MAX_PAGE_ENTRIES) {
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
    let (keys, values): (Vec<String>, Vec<Value>) = items.by_ref().take(MAX_PAGE_ENTRIES).unzip();
    let mut members = Map::new();
    members.insert(member.to_owned(), values.into());
    if let (Some(_), Some(last)) = (items.peek(), keys.last()) {
        let cursor = format!("{cursor_prefix}:{last}");
        members.insert("nextCursor".to_owned(), cursor.into());
    }
    ExtensionResult::new(members)
}

// --- Pages of `skills/list` that have already been rendered.

/// Maximum number of pages that are kept.
const MAX_PAGES: usize = 64;

/// Identifies a page by the skills that its callers see (`None` for all skills; otherwise, `true` for each visible
/// skill) and by the number of skills before the page.
type PageKey = (Option<Box<[bool]>>, usize);

/// Pages that have been rendered, which are shared by callers who see the same skills.
#[derive(Debug, Default)]
struct RenderedPages(Mutex<HashMap<PageKey, ExtensionResult>>);

impl RenderedPages {
    /// Returns a page, rendering it if necessary.
    ///
    /// # Errors
    ///
    /// Fails with the error of `render`.
    pub(super) fn get(
        &self,
        key: PageKey,
        render: impl FnOnce() -> Result<ExtensionResult>,
    ) -> Result<ExtensionResult> {
        let known = lock(&self.0).get(&key).cloned();
        if let Some(page) = known {
            return Ok(page);
        }
        let page = render()?;
        let mut known = lock(&self.0);
        if known.len() >= MAX_PAGES {
            known.clear();
        }
        known.insert(key, page.clone());
        Ok(page)
    }
}

// --- A skill as authors create it and as clients see it, with its URIs, its entry in `skills/list`, and its media types.

/// A skill held in memory: instructions in `SKILL.md`, and the files to which they refer. It is cheap to clone, and its
/// files are checked and hashed only once, no matter how often it is served.
///
/// ```
/// use mcp_runtime::skills::Skill;
///
/// let skill = Skill::new("pdf-tools", "---\nname: pdf-tools\ndescription: Fills in forms\n---\nRead references/forms.md.\n")
///     .file("references/forms.md", "# Forms\n");
/// ```
///
/// Limits: 512 files and 16 MiB. Start-up fails if the skill exceeds these limits or breaks another rule of the
/// extension.
///
/// Source: the extension `io.modelcontextprotocol/skills`.
#[derive(Clone)]
pub struct Skill {
    files: Arc<SkillFiles>,
    served: Arc<OnceLock<Result<Arc<ServedSkill>, Vec<SkillProblem>>>>,
}

impl Skill {
    /// Creates a skill from its path and the contents of its `SKILL.md`. The path consists of directories and the name
    /// in the front matter, such as `documents/pdf-tools`.
    pub fn new(path: impl Into<String>, skill_file: impl Into<Vec<u8>>) -> Self {
        let skill = Self {
            files: Arc::new(SkillFiles::new(path)),
            served: Arc::default(),
        };
        skill.file(SKILL_FILE, skill_file)
    }

    /// Adds a file at a path relative to the skill, such as `references/forms.md`. Any existing file at the same path
    /// is replaced.
    #[must_use]
    pub fn file(mut self, path: impl Into<String>, contents: impl Into<Vec<u8>>) -> Self {
        let files = &mut Arc::make_mut(&mut self.files).files;
        files.insert(path.into(), Bytes::from(contents.into()));
        self.served = Arc::default();
        self
    }

    /// Checks the skill, unless it has already been checked.
    pub(super) fn served(&self) -> Result<Arc<ServedSkill>, Vec<SkillProblem>> {
        let served = self.served.get_or_init(|| {
            let checked = SkillFiles::clone(&self.files).check()?;
            Ok(Arc::new(ServedSkill::new(checked)))
        });
        served.clone()
    }
}

impl fmt::Debug for Skill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Skill")
            .field("path", &self.files.path)
            .field("files", &self.files.files.keys())
            .finish_non_exhaustive()
    }
}

/// A skill that follows all rules, as clients see it.
#[derive(Debug, PartialEq)]
pub(super) struct ServedSkill {
    pub(super) path: String,
    pub(super) name: String,
    pub(super) description: String,
    /// The URI of `SKILL.md`.
    pub(super) uri: String,
    /// The entry in `skills/list`.
    pub(super) entry: Value,
    pub(super) files: Vec<Arc<ServedFile>>,
}

/// A file of a skill.
#[derive(Debug, PartialEq)]
pub(super) struct ServedFile {
    pub(super) uri: String,
    /// The last part of the path.
    pub(super) name: String,
    /// The full path, beginning with the skill's path.
    pub(super) path: String,
    pub(super) mime_type: &'static str,
    pub(super) contents: Bytes,
    digest: String,
}

impl ServedSkill {
    pub(super) fn new(skill: CheckedSkill) -> Self {
        let (name, description) = (skill.name().to_owned(), skill.description().to_owned());
        let CheckedSkill {
            path,
            front_matter,
            files,
        } = skill;
        let files = files.into_iter();
        let files: Vec<_> = files
            .map(|file| Arc::new(ServedFile::new(&path, file)))
            .collect();
        let resources = files
            .iter()
            .map(|file| json!({"uri": file.uri, "digest": file.digest, "size": file.size()}));
        let uri = uri_of(&join(&path, SKILL_FILE));
        Self {
            entry: json!({
                "uri": uri,
                "frontmatter": front_matter,
                "resources": resources.collect::<Vec<_>>(),
            }),
            path,
            name,
            description,
            uri,
            files,
        }
    }
}

impl ServedFile {
    fn new(skill: &str, file: CheckedSkillFile) -> Self {
        let path = join(skill, &file.path);
        Self {
            uri: uri_of(&path),
            name: path.rsplit('/').next().unwrap_or_default().to_owned(),
            mime_type: mime_type(&path, &file.contents),
            path,
            contents: file.contents,
            digest: file.digest,
        }
    }

    pub(super) fn size(&self) -> u64 {
        self.contents.len() as u64
    }
}

/// Returns the URI of a file or directory.
fn uri_of(path: &str) -> String {
    let parts: Vec<String> = path.split('/').map(percent_encode).collect();
    format!("skill://{}", parts.join("/"))
}

/// Returns the media type for a file name's extension. Files with other extensions are treated as text if they are
/// valid UTF-8.
fn mime_type(path: &str, contents: &[u8]) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or_default();
    let end = name
        .rsplit_once('.')
        .map(|(_, end)| end.to_ascii_lowercase());
    match end.as_deref().unwrap_or_default() {
        "md" => "text/markdown",
        "json" => "application/json",
        "yaml" | "yml" => "application/yaml",
        "html" | "htm" => "text/html",
        "css" => "text/css",
        "csv" => "text/csv",
        "js" | "mjs" => "text/javascript",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "pdf" => "application/pdf",
        _ if std::str::from_utf8(contents).is_ok() => "text/plain",
        _ => "application/octet-stream",
    }
}
