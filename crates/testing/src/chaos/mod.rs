//! Runs an author's tool repeatedly, with its process dying at different points, and reports all effects that were
//! repeated or lost.
//!
//! A tool that continues after its process has died, or after the client has answered, runs again from the beginning,
//! so work that must not happen twice belongs in [`Context::once`](mcp_core::context::Context::once). [`Chaos`] finds the places
//! where such work is not in `once`.
//!
//! ```standalone_crate
//! use mcp_runtime::prelude::*;
//! use mcp_runtime::testing::chaos::{Chaos, Effects};
//!
//! /// Stands in for the bank.
//! #[derive(Clone)]
//! struct FakeBank(Effects);
//!
//! impl FakeBank {
//!     async fn charge(&self, order: &str) -> Result<()> {
//!         self.0.record(format!("charge {order}"));
//!         Ok(())
//!     }
//! }
//!
//! /// Pays for an order.
//! #[tool(task)]
//! async fn pay(ctx: &Context, bank: State<FakeBank>, order: String) -> Result<()> {
//!     ctx.once("charge", async || bank.charge(&order).await).await
//! }
//!
//! # fn main() {
//! // In a test.
//! let report = Chaos::new(FakeBank, |bank| new_server!().state(bank.clone()))
//!     .seed(7)
//!     .histories(100)
//!     .call("pay", json!({"order": "A-1"}));
//! report.assert_no_faults();
//! # }
//! ```

mod history;
mod judge;
mod life;
mod search;

use std::sync::Arc;
use std::{fmt, thread};

pub use history::Effects;
use history::{CallHistory, Disruption};
use judge::EndedHistory;
pub use judge::{ChaosFault, ChaosReport, FaultKind};
use life::{CallUnderTest, ServedAs};
use mcp_client::Question;
use mcp_core::dispatch::UnstartedServer;
use search::{HistorySearch, SeededRandom};
use serde_json::Value;

use crate::Response;
use crate::chaos::history::CallEnd;
use crate::chaos::judge::ChaosCounts;

/// Default maximum number of histories.
const DEFAULT_MAX_HISTORIES: usize = 1_000;

type WorldFactory<W> = Box<dyn Fn(Effects) -> W + Send + Sync>;
type ServerFactory<W> = Box<dyn Fn(&W) -> Box<dyn UnstartedServer> + Send + Sync>;
type WorldReader<W> = Box<dyn Fn(&W) -> String + Send + Sync>;
type Answerer = Box<dyn Fn(&Question) -> Option<Response> + Send + Sync>;

/// A plan for trying histories of a tool in which its process dies and its questions are answered late, twice or never.
///
/// Each history makes one call in its own world, which consists of the fakes that replace the outside world and survive
/// all deaths. When a process dies, the runtime is dropped together with all its tasks, regardless of what they are
/// doing, and the server is started again. Only the world and the stores for tasks and steps are kept, always in
/// memory, regardless of the server's stores. Time is tokio's paused time, which advances automatically when all tasks
/// are waiting, in the same way in each run. The handler must not wait for anything outside this thread, such as the
/// network.
///
/// The tool is served in every way that clients can call it: as a plain call and, with the `task` option, as a task, in
/// both eras. A process can die before and after each step, within each step before and after its work, before and
/// after each question and while it is open, and before and after each operation that changes a task in the store. All
/// histories with one disruption are tried first, then those with two disruptions, and then some with three, in an
/// order determined by the [`seed`](Self::seed).
///
/// A plain call ends with its process, unless, in 2026-07-28, the client holds an open question and sends its answer to
/// the next process.
#[must_use = "nothing is tested unless `call` is called"]
pub struct Chaos<W> {
    world: WorldFactory<W>,
    server: ServerFactory<W>,
    observer: Option<WorldReader<W>>,
    answers: Vec<Response>,
    answerer: Option<Answerer>,
    seed: u64,
    histories: usize,
    repeats: bool,
}

impl<W> Chaos<W> {
    /// Creates the plan. `world` is called for each history and returns the data that survives the processes; it passes
    /// the [`Effects`] to all code that has effects. `server` is called for each process.
    pub fn new<S: UnstartedServer>(
        world: impl Fn(Effects) -> W + Send + Sync + 'static,
        server: impl Fn(&W) -> S + Send + Sync + 'static,
    ) -> Self {
        Self {
            world: Box::new(world),
            server: Box::new(move |world| Box::new(server(world))),
            observer: None,
            answers: Vec::new(),
            answerer: None,
            seed: 0,
            histories: DEFAULT_MAX_HISTORIES,
            repeats: false,
        }
    }

    /// Sets the seed for the order in which histories with several disruptions are tried. The default is 0. The same
    /// seed always results in the same histories and the same report.
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets the maximum number of histories. The default is 1,000.
    pub const fn histories(mut self, max: usize) -> Self {
        self.histories = max;
        self
    }

    /// Sets a function that observes the world after a call has completed, for example by returning the rows of a
    /// table. In all histories, the function must return the same value as for a call without disruptions. This detects
    /// effects that are not recorded with [`Effects`].
    pub fn observe<O: fmt::Debug>(
        mut self,
        observer: impl Fn(&W) -> O + Send + Sync + 'static,
    ) -> Self {
        self.observer = Some(Box::new(move |world| format!("{:?}", observer(world))));
        self
    }

    /// Adds an answer to be used for every question that it can answer. The first suitable answer is used.
    pub fn answer(mut self, answer: impl Into<Response>) -> Self {
        self.answers.push(answer.into());
        self
    }

    /// Sets a function that answers questions without a suitable [`answer`](Self::answer).
    pub fn answer_with(
        mut self,
        answerer: impl Fn(&Question) -> Option<Response> + Send + Sync + 'static,
    ) -> Self {
        self.answerer = Some(Box::new(answerer));
        self
    }

    /// Makes the client repeat a plain call whose process has died. By default, the client does not repeat it. For the
    /// server, this is a different call, so only a tool with idempotent effects is free of faults.
    pub const fn repeat_lost_calls(mut self) -> Self {
        self.repeats = true;
        self
    }

    /// Tries the histories of a call to this tool. `arguments` is an object.
    ///
    /// The histories run on a separate thread while the current thread is blocked, so this can be used in an
    /// asynchronous test.
    ///
    /// # Panics
    ///
    /// Panics if the server does not start, if the call fails without any disruption, or if a question has no answer.
    #[allow(
        clippy::needless_pass_by_value,
        reason = "`json!({…})` is written in place, as for `TestClient::call`"
    )]
    pub fn call(&self, tool: &str, arguments: Value) -> ChaosReport {
        thread::scope(|scope| {
            let tried = scope.spawn(|| self.try_histories(tool, &arguments)).join();
            tried.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn try_histories(&self, tool: &str, arguments: &Value) -> ChaosReport {
        let answers = |question: &Question| self.answer_to(question);
        let call = CallUnderTest {
            tool,
            arguments,
            answers: &answers,
            repeats: self.repeats,
        };
        let run = |way, plan: &[(usize, Disruption)]| self.run(&call, way, plan);
        let mut search = HistorySearch {
            run: &run,
            max: self.histories,
            random: SeededRandom(self.seed),
            counts: ChaosCounts::default(),
            faults: Vec::new(),
            reference: None,
        };
        let mut undisturbed = Vec::new();
        let mut reasons = Vec::new();
        let mut ways = Vec::new();
        for way in ServedAs::ALL {
            let ended = search.try_plan(way, &[]);
            if let CallEnd::NotServed(reason) = &ended.end {
                reasons.push(format!("as {}: {reason}", way.words()));
                continue;
            }
            ways.push(way.words());
            if let CallEnd::Completed(_) = &ended.end {
                if search.reference.is_none() {
                    search.reference = Some(run(way, &[]));
                }
                undisturbed.push((way, ended));
            } else if search.faults.is_empty() {
                panic!(
                    "`{tool}` as {}, without any disruption: {}",
                    way.words(),
                    ended.end
                );
            }
        }
        assert!(
            !ways.is_empty(),
            "`{tool}` is not served: {}",
            reasons.join("; ")
        );
        search.search(&undisturbed);
        ChaosReport {
            tool: tool.to_owned(),
            seed: self.seed,
            ways,
            counts: search.counts,
            faults: search.faults,
        }
    }

    fn run(
        &self,
        call: &CallUnderTest<'_>,
        way: ServedAs,
        plan: &[(usize, Disruption)],
    ) -> EndedHistory {
        let history = CallHistory::new(plan);
        let effects = Effects {
            history: Arc::clone(&history),
        };
        let world = (self.world)(effects);
        let end = call.run(way, &history, &|| (self.server)(&world));
        history.tell(end.to_string());
        let observed = self.observer.as_ref().map(|observer| observer(&world));
        EndedHistory {
            plan: plan.to_vec(),
            history,
            end,
            observed,
        }
    }

    fn answer_to(&self, question: &Question) -> Option<Value> {
        let mut answers = self.answers.iter();
        let known = answers.find_map(|answer| answer.result(question));
        known.or_else(|| {
            let answerer = self.answerer.as_ref()?;
            answerer(question)?.result(question)
        })
    }
}

impl<W> fmt::Debug for Chaos<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chaos")
            .field("seed", &self.seed)
            .field("histories", &self.histories)
            .finish_non_exhaustive()
    }
}
