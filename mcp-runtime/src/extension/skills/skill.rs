//! A skill: its files, its entry in `skills/list`, and the rules for both.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::extension::skills::front_matter;
use mcp_schema::template::percent_encode;

/// The file that describes a skill.
pub(super) const SKILL_FILE: &str = "SKILL.md";
/// Maximum number of files in a skill.
pub(super) const MAX_FILES: usize = 512;
/// Maximum size of all files of a skill together, in bytes.
pub(super) const MAX_BYTES: u64 = 16 << 20;

/// A skill held in memory: instructions in `SKILL.md`, and the files that they refer to.
///
/// ```
/// use mcp_runtime::skills::Skill;
///
/// let skill = Skill::new("pdf-tools", "---\nname: pdf-tools\ndescription: Fills in forms\n---\nRead references/forms.md.\n")
///     .file("references/forms.md", "# Forms\n");
/// ```
///
/// Limits: 512 files and 16 MiB. Start-up fails if the skill exceeds them or breaks another rule of the extension.
///
/// Source: the extension `io.modelcontextprotocol/skills`.
#[derive(Clone, Debug)]
pub struct Skill {
    pub(super) path: String,
    pub(super) files: BTreeMap<String, Vec<u8>>,
}

impl Skill {
    /// Creates a skill at this path, which consists of directories and the name in the front matter, such as
    /// `documents/pdf-tools`, with the contents of its `SKILL.md`.
    pub fn new(path: impl Into<String>, skill_file: impl Into<Vec<u8>>) -> Self {
        Self {
            path: path.into(),
            files: BTreeMap::from([(SKILL_FILE.to_owned(), skill_file.into())]),
        }
    }

    /// Adds a file at a path relative to the skill, such as `references/forms.md`. A file at the same path is replaced.
    #[must_use]
    pub fn file(mut self, path: impl Into<String>, contents: impl Into<Vec<u8>>) -> Self {
        self.files.insert(path.into(), contents.into());
        self
    }
}

/// A skill that follows all rules.
#[derive(Debug, PartialEq)]
pub(super) struct CheckedSkill {
    pub(super) path: String,
    pub(super) name: String,
    pub(super) description: String,
    /// The URI of `SKILL.md`.
    pub(super) uri: String,
    /// The entry in `skills/list`.
    pub(super) entry: Value,
    pub(super) files: Vec<Arc<SkillFile>>,
}

/// A file of a skill.
#[derive(Debug, PartialEq)]
pub(super) struct SkillFile {
    pub(super) uri: String,
    /// The last part of the path.
    pub(super) name: String,
    /// The parts of the path, beginning with those of the skill.
    pub(super) path: String,
    pub(super) mime_type: &'static str,
    pub(super) contents: Arc<[u8]>,
    digest: String,
}

impl CheckedSkill {
    /// Checks a skill and computes the digests of its files.
    ///
    /// # Errors
    ///
    /// Returns the first mistake, without the name of the skill.
    pub(super) fn new(skill: Skill) -> Result<Self, String> {
        let Skill { path, files } = skill;
        check_path(&path)?;
        if files.len() > MAX_FILES {
            return Err(format!(
                "it has {} files; the maximum is {MAX_FILES}",
                files.len()
            ));
        }
        let size: u64 = files.values().map(|file| file.len() as u64).sum();
        if size > MAX_BYTES {
            return Err(format!(
                "its files have {size} bytes; the maximum is {MAX_BYTES}"
            ));
        }
        let text = files.get(SKILL_FILE).map(|file| std::str::from_utf8(file));
        let text = text.ok_or(format!("it has no `{SKILL_FILE}`"))?;
        let text = text.map_err(|_| format!("`{SKILL_FILE}` is not UTF-8"))?;
        let front_matter =
            front_matter::read(text).map_err(|problem| format!("`{SKILL_FILE}`: {problem}"))?;
        let member = |name| {
            front_matter
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let (name, description) = (member("name").to_owned(), member("description").to_owned());
        let directory = path.rsplit('/').next().unwrap_or_default();
        if directory != name {
            return Err(format!(
                "the name in its front matter is `{name}`, but its directory is `{directory}`"
            ));
        }
        let mut checked = Vec::with_capacity(files.len());
        for (relative, contents) in files {
            check_path(&relative).map_err(|problem| format!("file `{relative}`: {problem}"))?;
            let nested = relative.strip_suffix(SKILL_FILE);
            if nested.is_some_and(|above| above.ends_with('/')) {
                return Err(format!(
                    "file `{relative}`: a skill cannot contain another one"
                ));
            }
            checked.push(Arc::new(SkillFile::new(
                format!("{path}/{relative}"),
                contents,
            )));
        }
        Ok(Self {
            uri: uri_of(&format!("{path}/{SKILL_FILE}")),
            entry: entry(&path, &front_matter, &checked),
            path,
            name,
            description,
            files: checked,
        })
    }
}

impl SkillFile {
    fn new(path: String, contents: Vec<u8>) -> Self {
        let mut digest = String::from("sha256:");
        for byte in Sha256::digest(&contents) {
            let _ = write!(digest, "{byte:02x}");
        }
        Self {
            uri: uri_of(&path),
            name: path.rsplit('/').next().unwrap_or_default().to_owned(),
            mime_type: mime_type(&path, &contents),
            path,
            contents: contents.into(),
            digest,
        }
    }

    pub(super) fn size(&self) -> u64 {
        self.contents.len() as u64
    }
}

fn entry(path: &str, front_matter: &Map<String, Value>, files: &[Arc<SkillFile>]) -> Value {
    let resources = files
        .iter()
        .map(|file| json!({"uri": file.uri, "digest": file.digest, "size": file.size()}));
    json!({
        "uri": uri_of(&format!("{path}/{SKILL_FILE}")),
        "frontmatter": front_matter,
        "resources": resources.collect::<Vec<_>>(),
    })
}

/// Returns the URI of a file or directory.
pub(super) fn uri_of(path: &str) -> String {
    let parts: Vec<String> = path.split('/').map(percent_encode).collect();
    format!("skill://{}", parts.join("/"))
}

/// Checks that a path consists of plain parts.
fn check_path(path: &str) -> Result<(), String> {
    let is_plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['\\', '\0']);
    if path.split('/').all(is_plain) {
        return Ok(());
    }
    Err("a path consists of names separated by `/`, without `.`, `..` and `\\`".to_owned())
}

/// Returns the media type for the end of a file's name. Files of other kinds are text if they are UTF-8.
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
