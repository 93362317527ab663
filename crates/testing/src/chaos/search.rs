//! Chooses the histories to try: every single disruption, then pairs, then larger combinations at random.

use super::history::{Disruption, DisruptionPlan};
use super::judge::EndedHistory;
use super::life::ServedAs;
use crate::chaos::history::CallEnd;
use crate::chaos::judge::{ChaosCounts, ChaosFault};

/// Runs the history of a plan, with the tool served in a given way.
pub(super) type HistoryRunner<'r> = dyn Fn(ServedAs, &[(usize, Disruption)]) -> EndedHistory + 'r;

/// The search through a call's histories.
pub(super) struct HistorySearch<'r> {
    /// Runs the history of a plan.
    pub(super) run: &'r HistoryRunner<'r>,
    pub(super) max: usize,
    pub(super) random: SeededRandom,
    pub(super) counts: ChaosCounts,
    pub(super) faults: Vec<ChaosFault>,
    /// A history without disruptions, with which all other histories are compared.
    pub(super) reference: Option<EndedHistory>,
}

impl HistorySearch<'_> {
    fn is_over(&self) -> bool {
        self.counts.histories >= self.max
    }

    /// Runs a history, counts it and keeps its faults.
    pub(super) fn try_plan(&mut self, way: ServedAs, plan: &[(usize, Disruption)]) -> EndedHistory {
        let ended = (self.run)(way, plan);
        if let CallEnd::NotServed(_) = &ended.end {
            return ended;
        }
        self.counts.histories += 1;
        self.counts.deaths += ended.history.deaths();
        self.counts.completed += usize::from(matches!(ended.end, CallEnd::Completed(_)));
        self.counts.told += usize::from(ended.tells_its_step());
        for mut fault in ended.faults(self.reference.as_ref()) {
            if let Some(known) = self.faults.iter_mut().find(|known| known.is_same(&fault)) {
                known.times += 1;
                if !known.ways.contains(&way.words()) {
                    known.ways.push(way.words());
                }
                continue;
            }
            fault.ways = vec![way.words()];
            fault.lines = ended.history.lines();
            self.faults.push(fault);
        }
        ended
    }

    /// Tries histories until the limit is reached. Once faults have been found, longer histories are not tried.
    pub(super) fn search(&mut self, undisturbed: &[(ServedAs, EndedHistory)]) {
        let mut longer = Vec::new();
        for (way, ended) in undisturbed {
            for plan in extensions(ended) {
                if self.is_over() {
                    self.counts.skipped_singles += 1;
                    continue;
                }
                let ended = self.try_plan(*way, &plan);
                self.counts.singles += 1;
                longer.extend(extensions(&ended).into_iter().map(|plan| (*way, plan)));
            }
        }
        self.counts.all_pairs = longer.len();
        self.random.shuffle(&mut longer);
        let mut longest = Vec::new();
        for (way, plan) in &longer {
            if self.is_over() || !self.faults.is_empty() {
                return;
            }
            let ended = self.try_plan(*way, plan);
            self.counts.pairs += 1;
            longest.push((*way, extensions(&ended)));
        }
        longest.retain(|(_, plans)| !plans.is_empty());
        self.search_at_random(&longest);
    }

    /// Tries histories with three disruptions, chosen at random from those that extend a history with two disruptions.
    fn search_at_random(&mut self, starts: &[(ServedAs, Vec<DisruptionPlan>)]) {
        while !self.is_over() && self.faults.is_empty() {
            let Some((way, plans)) = self.random.one_of(starts) else {
                return;
            };
            if let Some(plan) = self.random.one_of(plans) {
                self.try_plan(*way, plan);
                self.counts.triples += 1;
            }
        }
    }
}

/// Returns the plans that add one more disruption after all disruptions in a history.
fn extensions(ended: &EndedHistory) -> Vec<DisruptionPlan> {
    let first = ended.plan.last().map_or(0, |(last, _)| last + 1);
    let points = ended.history.points();
    let later = points.iter().enumerate().skip(first);
    let plans = later.flat_map(|(point, disruptions)| {
        disruptions.iter().map(move |disruption| {
            let mut plan = ended.plan.clone();
            plan.push((point, *disruption));
            plan
        })
    });
    plans.collect()
}

/// A sequence of numbers determined by a seed (`SplitMix64`).
pub(super) struct SeededRandom(pub(super) u64);

impl SeededRandom {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.next() % end).unwrap_or_default()
    }

    fn one_of<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        let index = self.below(all.len());
        all.get(index)
    }

    fn shuffle<T>(&mut self, all: &mut [T]) {
        for last in (1..all.len()).rev() {
            let other = self.below(last + 1);
            all.swap(last, other);
        }
    }
}
