//! The report on all histories of a call.

use std::fmt;

use super::fault::ChaosFault;

/// The findings of [`Chaos`](super::Chaos). `Display` formats them as a readable report.
#[derive(Clone, Debug)]
#[must_use = "the faults in a report go unnoticed unless it is checked"]
pub struct ChaosReport {
    pub(super) tool: String,
    pub(super) seed: u64,
    /// The ways in which the tool was served.
    pub(super) ways: Vec<String>,
    pub(super) counts: ChaosCounts,
    pub(super) faults: Vec<ChaosFault>,
}

/// Numbers of histories of various kinds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ChaosCounts {
    pub(super) histories: usize,
    pub(super) deaths: usize,
    pub(super) completed: usize,
    /// Number of histories in which the failure named the step in which a process died.
    pub(super) told: usize,
    /// Number of histories with one disruption, and the number of those that were skipped because of the limit.
    pub(super) singles: usize,
    pub(super) skipped_singles: usize,
    pub(super) pairs: usize,
    pub(super) all_pairs: usize,
    /// Number of histories with three disruptions.
    pub(super) triples: usize,
}

impl ChaosReport {
    /// Returns the faults, each with its shortest history, in the order in which they were found.
    #[must_use]
    pub fn faults(&self) -> &[ChaosFault] {
        &self.faults
    }

    /// Returns the number of histories that were tried.
    #[must_use]
    pub const fn histories(&self) -> usize {
        self.counts.histories
    }

    /// Returns the number of times a process died.
    #[must_use]
    pub const fn deaths(&self) -> usize {
        self.counts.deaths
    }

    /// Checks that every single disruption was tried and that no faults were found.
    ///
    /// # Panics
    ///
    /// Panics if any faults were found, or if [`histories`](super::Chaos::histories) is too small to try every single
    /// disruption. The panic message is the report.
    #[track_caller]
    pub fn assert_no_faults(&self) {
        assert!(self.faults.is_empty(), "{self}");
        let skipped = self.counts.skipped_singles;
        let needed = self.counts.histories + skipped;
        assert!(
            skipped == 0,
            "{skipped} single disruptions were not tried: set `.histories(…)` to at least {needed}\n{self}"
        );
    }
}

impl fmt::Display for ChaosReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = &self.counts;
        writeln!(
            f,
            "chaos: `{}` as {}; {} histories with {} deaths: {} completed, {} named the step that was cut off",
            self.tool,
            self.ways.join(", "),
            counts.histories,
            counts.deaths,
            counts.completed,
            counts.told,
        )?;
        let skipped = match counts.skipped_singles {
            0 => String::new(),
            skipped => format!(" ({skipped} more were not tried)"),
        };
        writeln!(
            f,
            "tried: {} single disruptions{skipped}, {} of {} pairs, {} random triples",
            counts.singles, counts.pairs, counts.all_pairs, counts.triples,
        )?;
        for (number, fault) in (1..).zip(&self.faults) {
            write!(f, "\n{number}. {fault}")?;
        }
        if !self.faults.is_empty() {
            writeln!(f, "\nto repeat it: seed {}", self.seed)?;
        }
        Ok(())
    }
}
