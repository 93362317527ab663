//! A skill's files, and the rules for them.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::{Map, Value};

use crate::digest::digest;
use crate::front_matter;
use crate::name::{check_path, join};
use crate::problem::SkillProblem;

/// The file that describes a skill.
pub const SKILL_FILE: &str = "SKILL.md";
/// Maximum number of files in a skill.
pub const MAX_FILES: usize = 512;
/// Maximum total size of the files in a skill, in bytes.
pub const MAX_BYTES: u64 = 16 << 20;

/// The files in a skill that has not been checked yet.
#[derive(Clone, Debug)]
pub struct SkillFiles {
    /// The path of the skill, which consists of any directories that group skills and the name of the skill.
    pub path: String,
    /// The files, keyed by their path relative to the skill.
    pub files: BTreeMap<String, Bytes>,
    /// The directory of the skill, as authors see it in problems.
    pub shown: String,
}

/// A skill that follows all rules.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedSkill {
    /// The path of the skill.
    pub path: String,
    /// The front matter from `SKILL.md`, with a valid name and description.
    pub front_matter: Map<String, Value>,
    /// The files, sorted by path.
    pub files: Vec<CheckedSkillFile>,
}

/// A file in a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedSkillFile {
    /// The path relative to the skill.
    pub path: String,
    /// The bytes.
    pub contents: Bytes,
    /// The digest of the bytes.
    pub digest: String,
}

impl SkillFiles {
    /// Creates a skill without files at this path.
    pub fn new(path: impl Into<String>) -> Self {
        let path = path.into();
        Self {
            shown: path.clone(),
            path,
            files: BTreeMap::new(),
        }
    }

    /// Checks the skill and computes the digests of its files.
    ///
    /// # Errors
    ///
    /// Returns all mistakes.
    pub fn check(self) -> Result<CheckedSkill, Vec<SkillProblem>> {
        let mut problems = Vec::new();
        if let Err(problem) = check_path(&self.path) {
            problems.push(SkillProblem::new(&self.shown, problem));
        }
        self.check_sizes(&mut problems);
        for path in self.files.keys() {
            if let Err(problem) = self.check_file(path) {
                problems.push(SkillProblem::new(join(&self.shown, path), problem));
            }
        }
        let front_matter = self.front_matter(&mut problems);
        if !problems.is_empty() {
            return Err(problems);
        }
        let files = self
            .files
            .into_iter()
            .map(|(path, contents)| CheckedSkillFile {
                digest: digest(&contents),
                path,
                contents,
            });
        Ok(CheckedSkill {
            path: self.path,
            front_matter,
            files: files.collect(),
        })
    }

    /// Checks the number of files and their total size, and reports the first file that exceeds a limit.
    fn check_sizes(&self, problems: &mut Vec<SkillProblem>) {
        let mut size = 0;
        for (index, (path, contents)) in self.files.iter().enumerate() {
            size += contents.len() as u64;
            let limit = match () {
                () if index >= MAX_FILES => format!("{MAX_FILES} files"),
                () if size > MAX_BYTES => format!("{MAX_BYTES} bytes"),
                () => continue,
            };
            let problem = format!("with this file, the skill has more than {limit}");
            problems.push(SkillProblem::new(join(&self.shown, path), problem));
            return;
        }
    }

    /// Checks the path of a file.
    fn check_file(&self, path: &str) -> Result<(), String> {
        check_path(path)?;
        let above = path.strip_suffix(SKILL_FILE);
        let above = above.and_then(|above| above.strip_suffix('/'));
        match above {
            Some(_) => Err(format!(
                "a skill cannot contain another one; move its directory out of `{}`",
                self.shown
            )),
            None => Ok(()),
        }
    }

    /// Reads the front matter and compares its name with the name of the directory.
    fn front_matter(&self, problems: &mut Vec<SkillProblem>) -> Map<String, Value> {
        let at = join(&self.shown, SKILL_FILE);
        let mut push = |problem: String| problems.push(SkillProblem::new(&at, problem));
        let Some(contents) = self.files.get(SKILL_FILE) else {
            push("the skill does not contain this file".to_owned());
            return Map::new();
        };
        let Ok(text) = std::str::from_utf8(contents) else {
            push("it is not UTF-8".to_owned());
            return Map::new();
        };
        let front_matter = match front_matter::read(text) {
            Ok(front_matter) => front_matter,
            Err(found) => {
                found.into_iter().for_each(push);
                return Map::new();
            }
        };
        let name = text_of(&front_matter, "name");
        let directory = self.path.rsplit('/').next().unwrap_or_default();
        if directory != name {
            push(format!(
                "the name in the front matter is `{name}`, but the directory is `{directory}`; they must be the same"
            ));
        }
        front_matter
    }
}

impl CheckedSkill {
    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        text_of(&self.front_matter, "name")
    }

    /// Returns the front matter in JSON, with its members in the same order as in the file.
    #[must_use]
    pub fn front_matter_json(&self) -> String {
        Value::Object(self.front_matter.clone()).to_string()
    }

    /// Returns the description.
    #[must_use]
    pub fn description(&self) -> &str {
        text_of(&self.front_matter, "description")
    }
}

fn text_of<'m>(members: &'m Map<String, Value>, name: &str) -> &'m str {
    members
        .get(name)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "---\nname: good\ndescription: Good\n---\n";

    fn skill(path: &str, files: &[(&str, usize)]) -> SkillFiles {
        let mut skill = SkillFiles::new(path);
        skill.files.insert(SKILL_FILE.into(), TEXT.into());
        for (path, size) in files {
            skill.files.insert((*path).into(), vec![b'x'; *size].into());
        }
        skill
    }

    fn problems(skill: SkillFiles) -> Vec<String> {
        let problems = skill.check().unwrap_err();
        problems.iter().map(SkillProblem::to_string).collect()
    }

    #[test]
    fn a_skill_exactly_at_the_limits_is_allowed() {
        let rest = usize::try_from(MAX_BYTES).unwrap() - TEXT.len();
        assert!(skill("good", &[("big", rest)]).check().is_ok());
        assert_eq!(
            problems(skill("good", &[("big", rest), ("bigger", 1)])),
            ["`good/bigger`: with this file, the skill has more than 16777216 bytes"]
        );
        let mut many = skill("good", &[]);
        for index in 1..MAX_FILES {
            many.files.insert(format!("f{index:03}"), Bytes::new());
        }
        assert!(many.clone().check().is_ok());
        many.files.insert("z".into(), Bytes::new());
        assert_eq!(
            problems(many),
            ["`good/z`: with this file, the skill has more than 512 files"]
        );
    }

    #[test]
    fn all_mistakes_are_reported_together() {
        let found = problems(skill("a/other", &[("../x", 1), ("inner/SKILL.md", 1)]));
        assert_eq!(
            found,
            [
                "`a/other/../x`: a path consists of names separated by `/`, without `.`, `..` and `\\`",
                "`a/other/inner/SKILL.md`: a skill cannot contain another one; move its directory out of `a/other`",
                "`a/other/SKILL.md`: the name in the front matter is `good`, but the directory is `other`; they must be the same",
            ]
        );
        assert_eq!(
            problems(SkillFiles::new("a")),
            ["`a/SKILL.md`: the skill does not contain this file"]
        );
    }
}
