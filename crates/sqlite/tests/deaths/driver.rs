//! Lets servers die at every seam and prints the outcomes of their tasks.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::run::{Failure, Run, run};
use crate::store::ALL_PAIRS;
use crate::tools::{TOOLS, Tool};

/// Number of concurrent runs, which mostly wait for leases to lapse.
const AT_ONCE: usize = 14;
/// Number of pairs of deaths tried for each tool, unless all pairs are tried.
const PAIRS: usize = 40;
/// The seed that determines the chosen pairs.
const SEED: u64 = 18;

pub(crate) async fn drive(tries_all: bool) -> Result<(), Failure> {
    let started = Instant::now();
    let mut runs = all(TOOLS.iter().map(|tool| (tool, Vec::new())).collect()).await?;
    let singles = runs.iter().flat_map(|whole| {
        let seams = distinct(&whole.seams);
        seams.map(|seam| (whole.tool, vec![seam.clone()]))
    });
    let singles = all(singles.collect()).await?;
    let mut pairs: Vec<_> = singles.iter().flat_map(pairs_of).collect();
    let number = pairs.len();
    if !tries_all {
        pairs = some_of(pairs, |tool| tool.name, PAIRS);
    }
    let chosen = pairs.len();
    runs.extend(singles);
    runs.extend(all(pairs).await?);
    if tries_all {
        print_runs(runs.iter());
    } else {
        print_runs(runs.iter().filter(|run| run.verdict.problem.is_some()));
    }
    print_table(&runs);
    let deaths: usize = runs.iter().map(|run| run.deaths.len()).sum();
    let died: usize = runs.iter().map(|run| run.died).sum();
    println!(
        "every single death and {chosen} of {number} pairs: {} runs, {died} deaths in {} s",
        runs.len(),
        started.elapsed().as_secs()
    );
    if !tries_all {
        println!("all pairs: {ALL_PAIRS} (seed {SEED})");
    }
    let mut failed = runs
        .iter()
        .filter(|run| run.verdict.problem.is_some())
        .count();
    // Seams that are hardly ever reached would prove nothing.
    if deaths - died > deaths / 20 {
        println!("{} processes did not come by their seam", deaths - died);
        failed += 1;
    }
    // This is the format of other tests, for programs that count their results.
    let result = if failed == 0 { "ok" } else { "FAILED" };
    let passed = runs.len().saturating_sub(failed);
    println!("\ntest result: {result}. {passed} passed; {failed} failed\n");
    if failed == 0 {
        Ok(())
    } else {
        Err("a task was lost, or a step was done twice".into())
    }
}

type Plan = (&'static Tool, Vec<String>);

/// Returns the plans in which a second process dies after the one in this run.
fn pairs_of(single: &Run) -> impl Iterator<Item = Plan> {
    distinct(&single.seams).map(|second| {
        let deaths = single.deaths.iter().chain([second]);
        (single.tool, deaths.cloned().collect())
    })
}

/// Returns the seams without repetitions, because a process dies when it first reaches a seam.
pub(crate) fn distinct(seams: &[String]) -> impl Iterator<Item = &String> {
    let mut known = BTreeSet::new();
    seams.iter().filter(move |seam| known.insert(*seam))
}

/// Returns some of the plans for each tool or other subject, always the same ones.
pub(crate) fn some_of<S: Copy>(
    plans: Vec<(S, Vec<String>)>,
    name: fn(S) -> &'static str,
    most: usize,
) -> Vec<(S, Vec<String>)> {
    let mut by_name: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for plan in plans {
        let name = name(plan.0);
        let mut hasher = DefaultHasher::new();
        (SEED, name, &plan.1).hash(&mut hasher);
        let of_name = by_name.entry(name).or_default();
        of_name.push((hasher.finish(), plan));
    }
    let chosen = by_name.into_values().flat_map(|mut plans| {
        plans.sort_by_key(|(order, _)| *order);
        plans.truncate(most);
        plans
    });
    chosen.map(|(_, plan)| plan).collect()
}

fn print_runs<'r>(runs: impl Iterator<Item = &'r Run>) {
    for run in runs {
        let verdict = &run.verdict;
        let done: Vec<_> = verdict.done.iter().map(ToString::to_string).collect();
        let end = match (&verdict.problem, verdict.told) {
            (Some(problem), _) => format!("PROBLEM: {problem}"),
            (None, Some(step)) => format!("tells that it died in {step}"),
            (None, None) => "completed".to_owned(),
        };
        println!(
            "{:<9} {:<28} steps {} attempts {} {end}",
            run.tool.name,
            run.deaths.join(", then "),
            done.join(" "),
            run.attempts,
        );
    }
}

fn print_table(runs: &[Run]) {
    println!("tool       runs  deaths  completed  told the step  repeated  doubled  problems");
    for tool in &TOOLS {
        let runs = || runs.iter().filter(|run| run.tool.name == tool.name);
        let count = |is: fn(&Run) -> bool| runs().filter(|run| is(run)).count();
        println!(
            "{:<9} {:>5} {:>7} {:>10} {:>14} {:>9} {:>8} {:>9}",
            tool.name,
            runs().count(),
            runs().map(|run| run.died).sum::<usize>(),
            count(|run| run.verdict.problem.is_none() && run.verdict.told.is_none()),
            count(|run| run.verdict.problem.is_none() && run.verdict.told.is_some()),
            count(|run| run.verdict.has_repeated),
            count(|run| run.verdict.has_doubled),
            count(|run| run.verdict.problem.is_some()),
        );
    }
}

/// Runs all plans, some of them concurrently. The results are in the same order.
async fn all(plans: Vec<Plan>) -> Result<Vec<Run>, Failure> {
    let room = Arc::new(Semaphore::new(AT_ONCE));
    let mut running = JoinSet::new();
    for (number, (tool, deaths)) in plans.into_iter().enumerate() {
        let room = Arc::clone(&room);
        running.spawn(async move {
            let _room = room.acquire_owned().await?;
            let name = format!("{} {}", tool.name, deaths.join(", then "));
            let run = run(tool, deaths).await;
            run.map(|run| (number, run))
                .map_err(|error| Failure::from(format!("{name}: {error}")))
        });
    }
    let mut done = BTreeMap::new();
    while let Some(run) = running.join_next().await {
        let (number, run) = run??;
        done.insert(number, run);
    }
    Ok(done.into_values().collect())
}
