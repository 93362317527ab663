//! A single history of a call: the disruptions that happen to it, and all other events in the meantime.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use mcp_client::Question;
use mcp_core::context::watching::{
    CallSite, QuestionPoint, RunWatcher, StepPoint, WatchedQuestion, WatchedStep, current_step,
};
use mcp_core::sync::lock;
use mcp_stores::NOT_STARTED_AGAIN;
use serde_json::{Map, Value, json};
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::chaos::life::{SentAnswer, UnreliableClient};

/// Maximum number of lines in the description of a history.
const MAX_LINES: usize = 1_000;

/// An event that can happen to a call at one of its points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Disruption {
    /// The process dies.
    Death,
    /// A question is answered after a long time.
    LateAnswer,
    /// An answer is sent again.
    RepeatedAnswer,
    /// A question is never answered.
    NoAnswer,
}

impl Disruption {
    /// The disruptions that can happen at a point between two operations.
    const AT_SEAM: &'static [Self] = &[Self::Death];
    /// The disruptions that can happen while a question is open.
    const AT_ANSWER: &'static [Self] = &[
        Self::Death,
        Self::LateAnswer,
        Self::RepeatedAnswer,
        Self::NoAnswer,
    ];
}

/// Disruptions, each with the number of the point at which it happens. The same plan always produces the same history.
pub(super) type DisruptionPlan = Vec<(usize, Disruption)>;

/// A single run of the handler.
#[derive(Default)]
pub(super) struct WatchedRun {
    /// The steps in the order in which the run reached them.
    pub(super) steps: Vec<(CallSite, Arc<str>)>,
    /// The questions in order, each with its digest and its text.
    pub(super) questions: Vec<(CallSite, String, String)>,
    pub(super) effects: Vec<RecordedEffect>,
}

/// An effect, and the step in which it was recorded.
pub(super) struct RecordedEffect {
    pub(super) name: Arc<str>,
    pub(super) site: CallSite,
    pub(super) step: Option<WatchedStep>,
}

/// A record of everything that happens to a call, shared by all processes that run it.
pub(super) struct CallHistory {
    state: Mutex<HistoryState>,
    died: Notify,
}

#[derive(Default)]
struct HistoryState {
    plan: DisruptionPlan,
    /// The disruptions that could happen at each point passed so far.
    points: Vec<&'static [Disruption]>,
    runs: Vec<WatchedRun>,
    lines: Vec<String>,
    is_dead: bool,
    deaths: usize,
    /// The steps in progress that must not be repeated.
    under_way: BTreeSet<Arc<str>>,
    /// The steps that were in progress when their process died and must not be repeated.
    cut_off: BTreeSet<Arc<str>>,
}

impl HistoryState {
    fn tell(&mut self, line: impl Into<String>) {
        if self.lines.len() < MAX_LINES {
            self.lines.push(line.into());
        }
    }

    fn next_disruption(&mut self, possible: &'static [Disruption]) -> Option<Disruption> {
        let point = self.points.len();
        self.points.push(possible);
        let planned = self.plan.iter().find(|(at, _)| *at == point);
        planned.map(|(_, disruption)| *disruption)
    }

    fn die(&mut self, place: &str) {
        self.is_dead = true;
        self.deaths += 1;
        let under_way = std::mem::take(&mut self.under_way);
        self.cut_off.extend(under_way);
        self.tell(format!("the process dies {place}"));
    }
}

impl CallHistory {
    pub(super) fn new(plan: &[(usize, Disruption)]) -> Arc<Self> {
        let state = HistoryState {
            plan: plan.to_vec(),
            ..HistoryState::default()
        };
        Arc::new(Self {
            state: Mutex::new(state),
            died: Notify::new(),
        })
    }

    fn state(&self) -> MutexGuard<'_, HistoryState> {
        lock(&self.state)
    }

    /// Adds a line to this history's description.
    pub(super) fn tell(&self, line: impl Into<String>) {
        self.state().tell(line);
    }

    /// Passes a point between two operations. Returns `true` if the process dies there or is already dead.
    pub(super) fn dies(&self, place: &str) -> bool {
        let mut state = self.state();
        if state.is_dead {
            return true;
        }
        if state.next_disruption(Disruption::AT_SEAM).is_none() {
            return false;
        }
        state.die(place);
        self.died.notify_one();
        true
    }

    /// Passes a point between two operations, unless the process dies there.
    pub(super) async fn pass(&self, place: &str) {
        if self.dies(place) {
            std::future::pending::<()>().await;
        }
    }

    /// Returns the disruption that happens while a question is open. Never returns if the process dies.
    pub(super) async fn disruption_of_answer(&self, question: &str) -> Option<Disruption> {
        let disruption = {
            let mut state = self.state();
            let disruption = state.next_disruption(Disruption::AT_ANSWER);
            if disruption == Some(Disruption::Death) {
                state.die(&format!("while the client is asked `{question}`"));
                self.died.notify_one();
            }
            disruption
        };
        if disruption == Some(Disruption::Death) {
            std::future::pending::<()>().await;
        }
        disruption
    }

    /// Waits until the process dies.
    pub(super) async fn died(&self) {
        self.died.notified().await;
    }

    /// Ends a process. Any remaining activity of the process is not recorded.
    pub(super) fn end_process(&self) {
        self.state().is_dead = true;
    }

    /// Starts another process with the same stores.
    pub(super) fn restart(&self) {
        let mut state = self.state();
        state.is_dead = false;
        state.under_way.clear();
        state.tell("another process starts with the same stores");
    }

    pub(super) fn record(&self, name: &str, site: CallSite, step: Option<WatchedStep>) {
        let mut state = self.state();
        if state.is_dead {
            return;
        }
        let mut line = format!("effect `{name}`");
        match &step {
            Some(step) => drop(write!(line, " in step `{}`", step.name)),
            None => line.push_str(" outside any `once`"),
        }
        state.tell(line);
        let name = name.into();
        if let Some(run) = state.runs.last_mut() {
            run.effects.push(RecordedEffect { name, site, step });
        }
    }

    pub(super) fn points(&self) -> Vec<&'static [Disruption]> {
        self.state().points.clone()
    }

    pub(super) fn lines(&self) -> Vec<String> {
        self.state().lines.clone()
    }

    pub(super) fn deaths(&self) -> usize {
        self.state().deaths
    }

    /// Returns `true` if a process died in the middle of a step that must not be repeated.
    pub(super) fn has_cut_off(&self) -> bool {
        !self.state().cut_off.is_empty()
    }

    pub(super) fn with_runs<T>(&self, f: impl FnOnce(&[WatchedRun]) -> T) -> T {
        f(&self.state().runs)
    }

    /// Returns how many times each effect was recorded outside of steps that may be repeated.
    pub(super) fn effects(&self) -> BTreeMap<Arc<str>, usize> {
        let mut counts = BTreeMap::new();
        for effect in self.state().runs.iter().flat_map(|run| &run.effects) {
            *counts.entry(Arc::clone(&effect.name)).or_default() += 1;
        }
        counts
    }
}

/// The watcher for a thread that runs a history.
pub(super) struct HistoryWatcher(pub(super) Arc<CallHistory>);

impl RunWatcher for HistoryWatcher {
    fn begin_run(&self) {
        let mut state = self.0.state();
        // The handler of a request that becomes a task has not run yet.
        if let Some(run) = state.runs.last()
            && run.steps.is_empty()
            && run.questions.is_empty()
            && run.effects.is_empty()
        {
            return;
        }
        state.runs.push(WatchedRun::default());
        let number = state.runs.len();
        if number > 1 {
            state.tell(format!(
                "the handler runs again, from the beginning (run {number})"
            ));
        }
    }

    fn pass_step(&self, step: &WatchedStep, point: StepPoint) -> bool {
        let WatchedStep { name, site, .. } = step;
        let place = match point {
            StepPoint::Reached => {
                let mut state = self.0.state();
                if state.is_dead {
                    return true;
                }
                if let Some(run) = state.runs.last_mut() {
                    run.steps.push((*site, Arc::clone(name)));
                }
                format!("before step `{name}` ({site})")
            }
            StepPoint::Begun => {
                let mut state = self.0.state();
                if !step.may_repeat && !state.is_dead {
                    state.under_way.insert(Arc::clone(name));
                }
                format!("after step `{name}` begins, before it does its work")
            }
            StepPoint::Worked => {
                format!("after the work of step `{name}`, before its result is recorded")
            }
            StepPoint::Recorded => {
                let mut state = self.0.state();
                if !state.is_dead {
                    state.under_way.remove(name);
                    state.tell(format!("step `{name}` is done"));
                }
                format!("after step `{name}`")
            }
        };
        self.0.dies(&place)
    }

    fn pass_question(&self, question: &WatchedQuestion<'_>, point: QuestionPoint) -> bool {
        let WatchedQuestion { site, digest, text } = question;
        match point {
            QuestionPoint::Asked => {
                {
                    let mut state = self.0.state();
                    if state.is_dead {
                        return true;
                    }
                    if let Some(run) = state.runs.last_mut() {
                        let question = (*site, (*digest).to_owned(), (*text).to_owned());
                        run.questions.push(question);
                    }
                }
                self.0
                    .dies(&format!("before the question `{text}` ({site})"))
            }
            QuestionPoint::Answered => self
                .0
                .dies(&format!("when the handler has the answer to `{text}`")),
        }
    }
}

// --- Effects that a test expects to happen only once.

/// Records a tool's effects under `Chaos`, such as an inserted row, a payment or a message.
///
/// Use it in the fake that replaces the outside world, so that the tool itself does not have to change:
///
/// ```
/// # use mcp_runtime::testing::chaos::Effects;
/// #[derive(Clone)]
/// struct FakeBank {
///     effects: Effects,
/// }
///
/// impl FakeBank {
///     async fn charge(&self, order: &str) {
///         self.effects.record(format!("charge {order}"));
///     }
/// }
/// ```
#[derive(Clone)]
pub struct Effects {
    pub(super) history: Arc<CallHistory>,
}

impl Effects {
    /// Records an effect. `name` identifies the effect that must not happen twice, so effects that may happen several
    /// times in one run need different names.
    ///
    /// Call this on the thread that runs the handler: an effect recorded in another thread or task is treated as being
    /// outside any `once`.
    #[track_caller]
    pub fn record(&self, name: impl AsRef<str>) {
        let site = CallSite::here();
        self.history.record(name.as_ref(), site, current_step());
    }
}

impl fmt::Debug for Effects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Effects").finish_non_exhaustive()
    }
}

// --- Follows a call to its end, including its questions and any task that it becomes.

/// Number of questions after which a call is considered endless.
const MAX_QUESTIONS: usize = 100;

/// The initial and the maximum time between two polls of a task.
const POLL_INTERVALS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(16));

/// The end of a call as seen by its client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CallEnd {
    /// The text of the result.
    Completed(String),
    /// The text of the failure.
    Failed(String),
    /// The tool cannot be served in this way.
    NotServed(String),
    /// The process died, and a call of this kind cannot continue.
    Lost,
    /// A question was never answered.
    Unanswered,
    /// The call asks questions forever or does not end.
    Endless(&'static str),
}

impl CallEnd {
    /// Returns `true` if a task failed because it must not be started again.
    pub(super) fn is_not_started_again(&self) -> bool {
        matches!(self, Self::Failed(text) if text.contains(NOT_STARTED_AGAIN))
    }
}

impl fmt::Display for CallEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Completed(_) => f.write_str("the call completes"),
            Self::Failed(text) => write!(f, "the call fails: {text}"),
            Self::NotServed(text) => write!(f, "the call is refused: {text}"),
            Self::Lost => f.write_str("the call is lost with its process"),
            Self::Unanswered => f.write_str("the call waits for its answer"),
            Self::Endless(text) => f.write_str(text),
        }
    }
}

/// Follows a task in the extension to its end and answers its questions.
pub(super) async fn follow_task(
    client: &mut UnreliableClient<'_>,
    id: &Value,
    answered: &mut usize,
) -> CallEnd {
    let mut wait = POLL_INTERVALS.0;
    loop {
        let mut task = match client.request("tasks/get", json!({"taskId": id})).await {
            Ok(task) => task,
            Err(error) => return CallEnd::Failed(error_text(&error)),
        };
        match task["status"].as_str() {
            Some("completed") => return end_of(&task["result"]),
            Some("failed") => return CallEnd::Failed(error_text(&task["error"])),
            Some("cancelled") => return CallEnd::Failed(error_text(&task)),
            Some("input_required") => {
                let asked = task["inputRequests"].take();
                let answered = answer_all(client, &asked, answered).await;
                let (answers, times) = match answered {
                    Ok(answered) => answered,
                    Err(end) => return end,
                };
                let params = json!({"taskId": id, "inputResponses": answers});
                for _ in 0..times {
                    if let Err(error) = client.request("tasks/update", params.clone()).await {
                        return CallEnd::Failed(error_text(&error));
                    }
                }
                wait = POLL_INTERVALS.0;
            }
            _ => {}
        }
        sleep(wait).await;
        wait = POLL_INTERVALS.1.min(wait * 2);
    }
}

/// Follows a task in 2025-11-25 to its end. The server asks questions while the client waits for the result.
pub(super) async fn follow_legacy_task(client: &mut UnreliableClient<'_>, id: &Value) -> CallEnd {
    let mut wait = POLL_INTERVALS.0;
    loop {
        let task = match client.request("tasks/get", json!({"taskId": id})).await {
            Ok(task) => task,
            Err(error) => return CallEnd::Failed(error_text(&error)),
        };
        if task["status"] != "working" {
            let result = client.request("tasks/result", json!({"taskId": id})).await;
            return match result {
                Ok(result) => end_of(&result),
                Err(error) => CallEnd::Failed(error_text(&error)),
            };
        }
        sleep(wait).await;
        wait = POLL_INTERVALS.1.min(wait * 2);
    }
}

/// Answers a round's questions. Returns the answers, and how many times to send them.
pub(super) async fn answer_all(
    client: &UnreliableClient<'_>,
    asked: &Value,
    answered: &mut usize,
) -> Result<(Map<String, Value>, usize), CallEnd> {
    let mut answers = Map::new();
    let mut times = 1;
    for (key, asked) in asked.as_object().into_iter().flatten() {
        *answered += 1;
        if *answered > MAX_QUESTIONS {
            return Err(CallEnd::Endless("it asks again and again"));
        }
        let method = asked["method"].as_str().unwrap_or_default().to_owned();
        let params = asked["params"].clone();
        let answer = match client.answer(&Question::new(method, params)).await {
            SentAnswer::Once(answer) => answer,
            SentAnswer::Twice(answer) => {
                times = 2;
                answer
            }
            SentAnswer::Never => return Err(CallEnd::Unanswered),
        };
        answers.insert(key.clone(), answer);
    }
    Ok((answers, times))
}

pub(super) fn end_of(result: &Value) -> CallEnd {
    let blocks = result["content"].as_array().into_iter().flatten();
    let texts: Vec<_> = blocks.filter_map(|block| block["text"].as_str()).collect();
    let text = texts.join("\n");
    if result["isError"] == true {
        CallEnd::Failed(text)
    } else {
        CallEnd::Completed(text)
    }
}

pub(super) fn error_text(value: &Value) -> String {
    let message = value["message"]
        .as_str()
        .or(value["statusMessage"].as_str());
    message.unwrap_or("no reason is given").to_owned()
}

/// Returns `true` for errors from tools that run only as tasks or never run as tasks.
pub(super) fn is_unserved(error: &Value) -> bool {
    !error["data"]["taskSupport"].is_null() || !error["data"]["requiredCapabilities"].is_null()
}
