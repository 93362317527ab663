//! Skills that are part of the program, as `skills!` writes them.

use std::sync::Arc;

use bytes::Bytes;
use mcp_skills::skill::{CheckedFile, CheckedSkill};

use crate::extension::skills::Skills;
use crate::extension::skills::skill::ServedSkill;

/// A skill that was checked when the program was compiled.
#[derive(Clone, Copy, Debug)]
pub struct CompiledSkill {
    /// The path of the skill.
    pub path: &'static str,
    /// The front matter, in JSON.
    pub front_matter: &'static str,
    /// The files, sorted by path.
    pub files: &'static [CompiledSkillFile],
}

/// A file of a skill that was checked when the program was compiled.
#[derive(Clone, Copy, Debug)]
pub struct CompiledSkillFile {
    /// The path relative to the skill.
    pub path: &'static str,
    /// The digest of the contents.
    pub digest: &'static str,
    /// The bytes.
    pub contents: &'static [u8],
}

/// Returns the contents of a file that had `SIZE` bytes when the macro read it. A file that changes its size before the
/// compiler reads it again is a compile error, because its digest would be wrong.
#[must_use]
pub const fn skill_contents<const SIZE: usize>(contents: &'static [u8; SIZE]) -> &'static [u8] {
    contents
}

/// Returns skills that were checked when the program was compiled. Nothing is parsed or hashed again but the front matter.
pub fn compiled_skills(skills: &'static [CompiledSkill]) -> Skills {
    Skills {
        compiled: skills.iter().map(serve).collect(),
        ..Skills::default()
    }
}

fn serve(skill: &CompiledSkill) -> Arc<ServedSkill> {
    let files = skill.files.iter().map(|file| CheckedFile {
        path: file.path.to_owned(),
        contents: Bytes::from_static(file.contents),
        digest: file.digest.to_owned(),
    });
    Arc::new(ServedSkill::new(CheckedSkill {
        path: skill.path.to_owned(),
        front_matter: serde_json::from_str(skill.front_matter).unwrap_or_default(),
        files: files.collect(),
    }))
}
