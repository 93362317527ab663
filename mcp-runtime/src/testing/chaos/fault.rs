//! A fault in a tool, with the history that shows it.

use std::fmt;

/// Maximum number of lines in a history's description, and the number of lines kept from its beginning if there are
/// more.
const MAX_LINES: usize = 24;
const FIRST_LINES: usize = 18;

/// The kind of a [`ChaosFault`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FaultKind {
    /// The name of a step differs between two runs, so its work is done again.
    ChangedStep,
    /// A question differs between two runs, so its answer does not match.
    ChangedQuestion,
    /// An effect was recorded in more than one run.
    RepeatedEffect,
    /// The call completed without an effect that it normally has.
    LostEffect,
    /// The call failed or did not end.
    LostCall,
    /// After the call, the test observes a different state than after a call without accidents.
    DifferentState,
}

/// A fault that [`Chaos`](super::Chaos) found.
#[derive(Clone, Debug)]
pub struct ChaosFault {
    kind: FaultKind,
    /// Distinguishes faults of the same kind.
    key: String,
    text: String,
    /// The ways of serving the call that show it.
    pub(super) ways: Vec<String>,
    pub(super) lines: Vec<String>,
    /// Number of histories that show it.
    pub(super) times: usize,
}

impl ChaosFault {
    pub(super) const fn new(kind: FaultKind, key: String, text: String) -> Self {
        Self {
            kind,
            key,
            text,
            ways: Vec::new(),
            lines: Vec::new(),
            times: 1,
        }
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        (self.kind, &self.key) == (other.kind, &other.key)
    }

    /// Returns the kind of the fault.
    #[must_use]
    pub const fn kind(&self) -> FaultKind {
        self.kind
    }

    /// Returns a sentence about the fault, with the line in the source code if it has one.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.text
    }

    /// Returns the ways of serving the call that show the fault, such as `a task of 2025-11-25`.
    #[must_use]
    pub fn served_as(&self) -> &[String] {
        &self.ways
    }

    /// Returns the shortest history that shows the fault, in words, with one line for each event.
    #[must_use]
    pub fn history(&self) -> &[String] {
        &self.lines
    }
}

impl fmt::Display for ChaosFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.text)?;
        let histories = match self.times {
            1 => "1 history".to_owned(),
            times => format!("{times} histories"),
        };
        writeln!(f, "   in {histories}, as {}", self.ways.join(", "))?;
        writeln!(f, "   the shortest:")?;
        let hidden = self.lines.len().saturating_sub(MAX_LINES);
        for (number, line) in (1..).zip(&self.lines) {
            match number {
                _ if hidden == 0 || number <= FIRST_LINES || number > FIRST_LINES + hidden => {
                    writeln!(f, "   {number:>3}. {line}")?;
                }
                _ if number == FIRST_LINES + 1 => writeln!(f, "        and so on")?,
                _ => {}
            }
        }
        Ok(())
    }
}
