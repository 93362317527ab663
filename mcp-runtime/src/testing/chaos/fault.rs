//! A fault in a tool, with a history that demonstrates it.

use std::fmt;

/// Maximum number of lines in a history's description, and the number of lines kept from the beginning of a longer one.
const MAX_LINES: usize = 24;
const FIRST_LINES: usize = 18;

/// The kind of a [`ChaosFault`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FaultKind {
    /// A step's name differs between two runs, so the step's work is repeated.
    ChangedStep,
    /// A question differs between two runs, so the answer does not match.
    ChangedQuestion,
    /// An effect was recorded in more than one run.
    RepeatedEffect,
    /// The call completed without one of its normal effects.
    LostEffect,
    /// The call failed or did not end.
    LostCall,
    /// After the call, the test observes a state that differs from the state after a call without disruptions.
    DifferentState,
}

/// A fault that [`Chaos`](super::Chaos) found.
#[derive(Clone, Debug)]
pub struct ChaosFault {
    kind: FaultKind,
    /// Distinguishes faults of the same kind.
    key: String,
    text: String,
    /// The ways of serving the call in which the fault occurs.
    pub(super) ways: Vec<String>,
    pub(super) lines: Vec<String>,
    /// Number of histories in which the fault occurs.
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

    /// Returns a sentence about the fault, with a line in the source code if the fault has one.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.text
    }

    /// Returns the ways of serving the call in which the fault occurs, such as `a task of 2025-11-25`.
    #[must_use]
    pub fn served_as(&self) -> &[String] {
        &self.ways
    }

    /// Returns a description of the shortest history in which the fault occurs, with one line for each event.
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
