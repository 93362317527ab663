//! Calls that are not tasks but use `once`: their server is killed before and after every operation of its store, and
//! the client sends the round again to the next process, which may be killed as well.
//!
//! A client that repeats the first round makes another call, unless both have the same idempotency key. A repeated
//! later round belongs to the same call. In each call, a step is done at most once, or the call ends with an error that
//! says that its outcome is unknown. Legacy calls use the store only if they have a key, because no other process can
//! continue them.

mod client;
mod judge;
pub(crate) mod server;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::calls::client::{Reply, Server};
use crate::calls::judge::judge;
use crate::driver::{distinct, some_of};
use crate::run::{Failure, Folder, lines};
use crate::tools::DONE;

/// The environment variable that makes this program a server of calls.
pub(crate) const CALLS: &str = "CALLS";
/// The steps of each call.
pub(crate) const STEPS: [&str; 2] = ["pay", "ship"];
/// The result of each call.
pub(crate) const ENDED: &str = "paid and shipped";
/// Number of concurrent runs.
const AT_ONCE: usize = 6;
/// Number of pairs of deaths tried for each scenario, unless all pairs are tried.
const PAIRS: usize = 40;
/// Maximum number of rounds of a call, and of its repeats, at one process.
const ROUNDS: usize = 3;

/// A call that a client makes, and repeats when the process has died.
pub(crate) struct Scenario {
    name: &'static str,
    tool: &'static str,
    is_modern: bool,
    has_key: bool,
    /// Steps may be done again in the same call.
    may_repeat: bool,
}

const fn scenario(
    name: &'static str,
    tool: &'static str,
    is_modern: bool,
    has_key: bool,
) -> Scenario {
    Scenario {
        name,
        tool,
        is_modern,
        has_key,
        may_repeat: false,
    }
}

static SCENARIOS: [Scenario; 6] = [
    scenario("modern, key", "order", true, true),
    scenario("modern, question", "confirm", true, false),
    scenario("modern, question, key", "confirm", true, true),
    Scenario {
        may_repeat: true,
        ..scenario("modern, question, retry()", "repeat", true, false)
    },
    scenario("legacy, key", "order", false, true),
    scenario("legacy, question, key", "confirm", false, true),
];

/// The result of one run.
pub(crate) struct CallRun {
    scenario: &'static Scenario,
    deaths: Vec<String>,
    died: usize,
    /// The seams that each process has passed.
    logs: Vec<Vec<String>>,
    /// The lines that the steps have left.
    done: Vec<String>,
    text: String,
    is_error: bool,
}

/// Tries every single death and some pairs, or all of them. Prints a table, and fails if a promise was broken.
pub(crate) async fn drive(tries_all: bool) -> Result<(), Failure> {
    let whole = all(SCENARIOS
        .iter()
        .map(|scenario| (scenario, Vec::new()))
        .collect())
    .await?;
    let singles = whole.iter().flat_map(|run| {
        let seams = distinct(run.last_log());
        seams.map(|seam| (run.scenario, vec![seam.clone()]))
    });
    let singles = all(singles.collect()).await?;
    let pairs = singles.iter().flat_map(|run| {
        let seams = distinct(run.last_log());
        seams.map(|second| {
            (
                run.scenario,
                [&run.deaths[..], std::slice::from_ref(second)].concat(),
            )
        })
    });
    let mut pairs: Vec<_> = pairs.collect();
    if !tries_all {
        pairs = some_of(pairs, |scenario| scenario.name, PAIRS);
    }
    let mut runs = [whole, singles].into_iter().flatten().collect::<Vec<_>>();
    runs.extend(all(pairs).await?);
    println!("calls                       runs  deaths  completed  outcome unknown  problems");
    let mut failed = 0;
    for scenario in &SCENARIOS {
        let of_scenario = runs.iter().filter(|run| run.scenario.name == scenario.name);
        failed += print_row(scenario, &of_scenario.collect::<Vec<_>>());
    }
    // This is the format of other tests, for programs that count their results.
    let (result, passed) = (
        if failed == 0 { "ok" } else { "FAILED" },
        runs.len() - failed,
    );
    println!("\ntest result: {result}. {passed} passed; {failed} failed\n");
    if failed == 0 {
        Ok(())
    } else {
        Err("a step was done twice, or a call did not end as it should".into())
    }
}

/// Prints the runs of a scenario. Returns the number of those that broke a promise.
fn print_row(scenario: &Scenario, runs: &[&CallRun]) -> usize {
    let judged = runs.iter().filter_map(|run| Some((run, judge(run)?)));
    let problems: Vec<_> = judged.collect();
    for (run, problem) in &problems {
        let deaths = run.deaths.join(", then ");
        println!("{}: {deaths}: PROBLEM: {problem}", scenario.name);
    }
    let died: usize = runs.iter().map(|run| run.died).sum();
    let completed = runs.iter().filter(|run| !run.is_error).count();
    println!(
        "{:<26} {:>5} {died:>7} {completed:>10} {:>16} {:>9}",
        scenario.name,
        runs.len(),
        runs.len() - completed,
        problems.len()
    );
    problems.len()
}

type CallPlan = (&'static Scenario, Vec<String>);

/// Runs all plans, some of them concurrently.
async fn all(plans: Vec<CallPlan>) -> Result<Vec<CallRun>, Failure> {
    let room = Arc::new(Semaphore::new(AT_ONCE));
    let mut running = JoinSet::new();
    for (scenario, deaths) in plans {
        let room = Arc::clone(&room);
        running.spawn(async move {
            let _room = room.acquire_owned().await?;
            run(scenario, deaths).await
        });
    }
    let mut done = Vec::new();
    while let Some(run) = running.join_next().await {
        done.push(run??);
    }
    Ok(done)
}

impl CallRun {
    /// Returns the seams that the last process has passed.
    fn last_log(&self) -> &[String] {
        self.logs.last().map_or(&[], Vec::as_slice)
    }
}

/// Makes a call, with one process for each death and one more process.
async fn run(scenario: &'static Scenario, deaths: Vec<String>) -> Result<CallRun, Failure> {
    let folder = Folder::new()?;
    let mut state = None;
    let (mut died, mut logs, mut end) = (0, Vec::new(), None);
    for (number, death) in deaths.iter().map(Some).chain([None]).enumerate() {
        let log = format!("seams-{number}");
        let mut server = Server::start(&folder.0, &log, death)?;
        for _ in 0..ROUNDS {
            match server.call(scenario, state.as_ref()).await? {
                Reply::Died => {
                    died += 1;
                    break;
                }
                Reply::Asked(next) => state = Some(next),
                Reply::Ended { text, is_error } => {
                    end = Some((text, is_error));
                    break;
                }
            }
        }
        drop(server);
        logs.push(lines(&folder.0.join(log)));
        if end.is_some() {
            break;
        }
    }
    let plan = format!("{}: {}", scenario.name, deaths.join(", then "));
    let (text, is_error) = end.ok_or_else(|| format!("{plan}: the call did not end"))?;
    Ok(CallRun {
        scenario,
        deaths,
        died,
        logs,
        done: done(&folder.0)?,
        text,
        is_error,
    })
}

/// Returns the lines that the steps have left.
fn done(folder: &Path) -> Result<Vec<String>, Failure> {
    let file = folder.join(DONE);
    if !fs::exists(&file)? {
        return Ok(Vec::new());
    }
    Ok(lines(&file))
}
