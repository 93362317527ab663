//! Finds what went wrong in a history.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use mcp_core::context::once::UNKNOWN_OUTCOME;
use mcp_core::context::watching::CallSite;

use crate::chaos::history::{
    CallEnd, CallHistory, Disruption, DisruptionPlan, RecordedEffect, WatchedRun,
};

/// A history that has ended.
pub(super) struct EndedHistory {
    pub(super) plan: DisruptionPlan,
    pub(super) history: Arc<CallHistory>,
    pub(super) end: CallEnd,
    /// The state that the author's function observes after the end.
    pub(super) observed: Option<String>,
}

impl EndedHistory {
    /// Returns `true` if the call failed because a process died in a step that must not be repeated, and if the failure
    /// message states this.
    pub(super) fn tells_its_step(&self) -> bool {
        match &self.end {
            CallEnd::Failed(text) => text.contains(UNKNOWN_OUTCOME) && self.history.has_cut_off(),
            _ => false,
        }
    }

    /// Returns the faults in this history, compared with the history without disruptions.
    pub(super) fn faults(&self, undisturbed: Option<&Self>) -> Vec<ChaosFault> {
        let mut faults = self.history.with_runs(|runs| {
            let mut faults = changed_names(runs);
            faults.extend(changed_questions(runs));
            faults.extend(repeated_effects(runs));
            faults
        });
        if let Some(undisturbed) = undisturbed
            && !ends_early(&self.plan)
        {
            faults.extend(self.differences(undisturbed));
        }
        faults
    }

    /// Compares the end of this history with the end of the history without disruptions.
    fn differences(&self, undisturbed: &Self) -> Vec<ChaosFault> {
        let mut faults = Vec::new();
        match &self.end {
            CallEnd::Completed(_) => {
                let done = self.history.effects();
                let lost = undisturbed.history.effects().into_keys();
                let lost = lost.filter(|name| !done.contains_key(name));
                faults.extend(lost.map(|name| {
                    let text = format!("effect `{name}` was lost: the call completed without it");
                    ChaosFault::new(FaultKind::LostEffect, name.to_string(), text)
                }));
                if let (Some(expected), Some(found)) = (&undisturbed.observed, &self.observed)
                    && expected != found
                {
                    let text = format!(
                        "after the call, the test observes {found}; without disruptions, it observes {expected}"
                    );
                    faults.push(ChaosFault::new(
                        FaultKind::DifferentState,
                        String::new(),
                        text,
                    ));
                }
            }
            CallEnd::Failed(_) if self.tells_its_step() || self.end.is_not_started_again() => {}
            CallEnd::Failed(text) => {
                let text = format!("the call fails: {text}");
                faults.push(ChaosFault::new(FaultKind::LostCall, text.clone(), text));
            }
            CallEnd::Endless(text) => {
                let text = format!("the call does not complete: {text}");
                faults.push(ChaosFault::new(FaultKind::LostCall, text.clone(), text));
            }
            CallEnd::Lost | CallEnd::Unanswered | CallEnd::NotServed(_) => {}
        }
        faults
    }
}

/// Finds steps whose names are not the same in two runs.
fn changed_names(runs: &[WatchedRun]) -> Vec<ChaosFault> {
    let mut faults = Vec::new();
    let named: Vec<_> = runs
        .iter()
        .map(|run| by_site(&run.steps, |step| step))
        .collect();
    for (one, other) in named.iter().zip(named.iter().skip(1)) {
        for (site, before) in one {
            let after = other.get(site).map_or(&[][..], |names| &names[..]);
            // If another run contains the step elsewhere, it is the same step in a different order.
            let changed = before.iter().zip(after).find(|(before_name, after_name)| {
                !after.contains(before_name) && !before.contains(after_name)
            });
            if let Some((before, after)) = changed {
                let text = format!(
                    "the name of the step at {site} changes: it is `{before}` in one run and `{after}` in the next, so its \
                     work is done again"
                );
                faults.push(ChaosFault::new(
                    FaultKind::ChangedStep,
                    site.to_string(),
                    text,
                ));
            }
        }
    }
    faults
}

/// Finds questions that are not the same in two runs.
fn changed_questions(runs: &[WatchedRun]) -> Vec<ChaosFault> {
    let mut faults = Vec::new();
    let asked = runs.iter().map(|run| {
        let questions = run.questions.iter();
        let questions: Vec<_> = questions
            .map(|(site, digest, text)| (*site, (digest, text)))
            .collect();
        by_site(&questions, |question| question)
    });
    let asked: Vec<_> = asked.collect();
    for (one, other) in asked.iter().zip(asked.iter().skip(1)) {
        for (site, before) in one {
            let after = other.get(site).map_or(&[][..], |questions| &questions[..]);
            let changed = before
                .iter()
                .zip(after)
                .find(|(before, after)| before.0 != after.0);
            if let Some((before, after)) = changed {
                let change = if before.1 == after.1 {
                    format!("the form of `{}` differs between two runs", before.1)
                } else {
                    format!(
                        "it is `{}` in one run and `{}` in the next",
                        before.1, after.1
                    )
                };
                let text = format!(
                    "the question at {site} changes: {change}, so its answer does not match and it is asked again"
                );
                let key = site.to_string();
                faults.push(ChaosFault::new(FaultKind::ChangedQuestion, key, text));
            }
        }
    }
    faults
}

/// Returns the values recorded at each call site, in order.
fn by_site<V: Clone>(all: &[(CallSite, V)], value: fn(&V) -> &V) -> BTreeMap<CallSite, Vec<V>> {
    let mut by_site: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (site, one) in all {
        by_site.entry(*site).or_default().push(value(one).clone());
    }
    by_site
}

/// Finds effects that occurred in more than one run, except in steps that may be repeated.
fn repeated_effects(runs: &[WatchedRun]) -> Vec<ChaosFault> {
    let may_repeat =
        |effect: &RecordedEffect| effect.step.as_ref().is_some_and(|step| step.may_repeat);
    let mut by_name: BTreeMap<&str, Vec<(usize, &RecordedEffect)>> = BTreeMap::new();
    for (run, watched) in runs.iter().enumerate() {
        for effect in watched.effects.iter().filter(|effect| !may_repeat(effect)) {
            by_name.entry(&effect.name).or_default().push((run, effect));
        }
    }
    let repeated = by_name.into_iter().filter_map(|(name, effects)| {
        let (first, _) = effects.first()?;
        // Several occurrences in a single run may be intended.
        let again = effects.iter().find(|(run, _)| run != first)?;
        let of_runs: Vec<_> = effects
            .iter()
            .map(|(run, _)| (run + 1).to_string())
            .collect();
        let place = match &again.1.step {
            Some(step) => format!("in step `{}` ({})", step.name, step.site),
            None => format!("outside any `once` ({})", again.1.site),
        };
        let text = format!(
            "effect `{name}` was done more than once {place}: in runs {}",
            of_runs.join(", ")
        );
        Some(ChaosFault::new(
            FaultKind::RepeatedEffect,
            name.to_owned(),
            text,
        ))
    });
    repeated.collect()
}

/// Returns `true` if a disruption makes a call end early, in which case its end is not meaningful.
fn ends_early(plan: &[(usize, Disruption)]) -> bool {
    plan.iter()
        .any(|(_, disruption)| matches!(disruption, Disruption::NoAnswer | Disruption::LateAnswer))
}

// --- A fault in a tool, with a history that demonstrates it.

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

/// A fault that `Chaos` found.
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

// --- The report on all histories of a call.

/// The findings of `Chaos`. `Display` formats them as a readable report.
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
    /// Panics if any faults were found, or if `histories` is too small to try every single
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
