//! The ids of tasks.

use std::fmt;

use crate::random::RandomId;

/// A task's id: 192 random bits, encoded as 32 characters of URL-safe base64. An id is never reused.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(RandomId);

impl TaskId {
    /// Creates an id from bytes of the operating system's random number generator. It does not begin with a hyphen.
    #[must_use]
    pub fn random() -> Self {
        Self(RandomId::new())
    }

    /// Parses an id. Returns `None` if the text is not a valid id.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        RandomId::parse(text).map(Self)
    }

    /// Returns the id as sent on the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Shows only the first characters, because any anonymous caller who knows the id of an anonymous caller's task can use
/// the task.
impl fmt::Debug for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TaskId({:?})", self.0)
    }
}
