//! A mistake in a skill.

use std::fmt;

/// A mistake in a skill, and the file or directory that contains it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillProblem {
    /// The path of the file or directory, as authors see it.
    pub at: String,
    /// The mistake, and usually its remedy.
    pub text: String,
}

impl SkillProblem {
    /// Describes a problem with the file or directory at this path.
    pub fn new(at: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            at: at.into(),
            text: text.into(),
        }
    }
}

impl fmt::Display for SkillProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.at, self.text)
    }
}
