//! Reads and checks the skills that `skills!` includes in a program. The rules are in [`mcp_skills`].

use std::path::{Path, PathBuf};

use mcp_skills::folder;
use mcp_skills::skill::CheckedSkill;

use crate::errors::Errors;
use crate::parse::skills::SkillFolder;
use crate::parse::value::PathValue;

/// The checked skills in a folder.
pub(crate) struct IncludedSkills {
    /// The absolute path of the folder.
    pub(crate) folder: String,
    pub(crate) skills: Vec<CheckedSkill>,
    /// The path to the runtime crate.
    pub(crate) runtime: Option<PathValue>,
}

impl IncludedSkills {
    /// Reads and checks a folder inside a package. Every mistake in it is reported at the path in the macro.
    pub(crate) fn new(folder: SkillFolder, package: Option<PathBuf>, errors: &mut Errors) -> Self {
        let SkillFolder { path, runtime } = folder;
        let mut push = |problem: String| errors.push(syn::Error::new(path.span(), problem));
        let mut included = Self {
            folder: String::new(),
            skills: Vec::new(),
            runtime,
        };
        let shown = path.value();
        let Some(package) = package else {
            push("the folder cannot be found, because `CARGO_MANIFEST_DIR` is not set".to_owned());
            return included;
        };
        let folder = package.join(Path::new(&shown));
        let Some(folder) = folder.to_str() else {
            push("the path of this package is not UTF-8".to_owned());
            return included;
        };
        if !Path::new(folder).is_dir() {
            push(format!(
                "the folder `{shown}` does not exist; the path is relative to `Cargo.toml`"
            ));
            return included;
        }
        folder.clone_into(&mut included.folder);
        let found = folder::read(Path::new(folder), &shown);
        if found.skills.is_empty() && found.problems.is_empty() {
            push(format!("the folder `{shown}` contains no skills"));
        }
        let mut problems = found.problems;
        for skill in found.skills {
            match skill.check() {
                Ok(skill) => included.skills.push(skill),
                Err(found) => problems.extend(found),
            }
        }
        for problem in problems {
            push(problem.to_string());
        }
        included
    }
}
