//! A skill as authors create it and as clients see it, with its URIs, its entry in `skills/list`, and its media types.

use std::fmt;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use mcp_schema::template::percent_encode;
use mcp_skills::name::join;
use mcp_skills::problem::SkillProblem;
use mcp_skills::skill::{CheckedSkill, CheckedSkillFile, SKILL_FILE, SkillFiles};
use serde_json::{Value, json};

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
