//! Finds what went wrong in a history.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::fault::{ChaosFault, FaultKind};
use super::following::CallEnd;
use super::history::{CallHistory, Disruption, DisruptionPlan, RecordedEffect, WatchedRun};
use crate::context::once::UNKNOWN_OUTCOME;
use crate::context::watching::CallSite;

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
