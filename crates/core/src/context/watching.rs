//! Lets a test observe the steps and questions of a running handler, and lets the process "die" at any of them.
//!
//! A thread that no test watches does nothing here.

use std::cell::RefCell;
use std::fmt;
use std::panic::Location;
use std::rc::Rc;
use std::sync::Arc;

use crate::context::ask::CallQuestion;
use crate::types::InputRequest;

/// A line in the author's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallSite {
    file: &'static str,
    line: u32,
}

impl CallSite {
    /// Returns the line from which the calling function was called, if that function is `#[track_caller]`.
    #[track_caller]
    #[must_use]
    pub fn here() -> Self {
        let location = Location::caller();
        let (file, line) = (location.file(), location.line());
        Self { file, line }
    }
}

impl fmt::Display for CallSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// A step in a handler: one call to `once`.
#[derive(Clone, Debug)]
pub struct WatchedStep {
    /// The step's name.
    pub name: Arc<str>,
    /// Where the handler does it.
    pub site: CallSite,
    /// `true` if the step may be repeated after a death.
    pub may_repeat: bool,
}

/// A point in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepPoint {
    /// The handler has reached the step.
    Reached,
    /// The step has begun, but its work has not.
    Begun,
    /// The work is done, but its result has not been recorded yet.
    Worked,
    /// The result has been recorded.
    Recorded,
}

/// A point in a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionPoint {
    /// Before the question has an answer.
    Asked,
    /// When its answer is known.
    Answered,
}

/// A question that a handler asks.
pub struct WatchedQuestion<'q> {
    /// Where the handler asks.
    pub site: CallSite,
    /// A digest of the question, by which it is recognized in another run.
    pub digest: &'q str,
    /// The message of an elicitation, or the name of any other kind of question.
    pub text: &'q str,
}

/// A test that watches the handlers on this thread. If a method returns `true`, the process is dead and the handler
/// does not continue.
pub trait RunWatcher {
    /// A handler is about to run, perhaps again.
    fn begin_run(&self);
    /// Called at a step. Returns `false` if the run ends here.
    fn pass_step(&self, step: &WatchedStep, point: StepPoint) -> bool;
    /// Called at a question. Returns `false` if the run ends here.
    fn pass_question(&self, question: &WatchedQuestion<'_>, point: QuestionPoint) -> bool;
}

thread_local! {
    static WATCHER: RefCell<Option<Rc<dyn RunWatcher>>> = const { RefCell::new(None) };
    /// The step whose work this thread is polling.
    static STEP: RefCell<Option<WatchedStep>> = const { RefCell::new(None) };
}

/// Sets this thread's watcher.
pub fn watch(watcher: Option<Rc<dyn RunWatcher>>) {
    WATCHER.set(watcher);
}

/// Returns the step whose work this thread is polling.
pub fn current_step() -> Option<WatchedStep> {
    STEP.with_borrow(Clone::clone)
}

fn watcher() -> Option<Rc<dyn RunWatcher>> {
    WATCHER.with_borrow(Clone::clone)
}

/// Reports that a handler is about to run.
pub(crate) fn begin_run() {
    if let Some(watcher) = watcher() {
        watcher.begin_run();
    }
}

/// Reports that a handler has reached this point of a question. Returns `true` if the handler does not continue, because
/// the process is dead.
pub(crate) fn stops_at(question: &CallQuestion, site: CallSite, point: QuestionPoint) -> bool {
    let Some(watcher) = watcher() else {
        return false;
    };
    let text = match &question.request {
        InputRequest::Form { message, .. } | InputRequest::Url { message, .. } => message,
        InputRequest::Sample(_) => "sampling",
        InputRequest::Roots => "roots",
        // A forwarded question belongs to a different call.
        _ => return false,
    };
    let digest = &question.identity.digest;
    watcher.pass_question(&WatchedQuestion { site, digest, text }, point)
}

impl WatchedStep {
    /// Returns a step of a handler that this thread runs, if a test watches it.
    pub(crate) fn new(name: &str, site: CallSite, may_repeat: bool) -> Option<Self> {
        watcher().map(|_| Self {
            name: name.into(),
            site,
            may_repeat,
        })
    }

    /// Marks this step as the one being polled by this thread until the returned value is dropped.
    pub(crate) fn enter(&self) -> EnteredStep {
        EnteredStep(STEP.replace(Some(self.clone())))
    }
}

/// Passes this point of a step, unless the process dies there.
pub(crate) async fn pass(step: Option<&WatchedStep>, point: StepPoint) {
    if let Some(step) = step
        && watcher().is_some_and(|watcher| watcher.pass_step(step, point))
    {
        std::future::pending::<()>().await;
    }
}

/// The step to restore as the currently polled step when this value is dropped.
pub(crate) struct EnteredStep(Option<WatchedStep>);

impl Drop for EnteredStep {
    fn drop(&mut self) {
        STEP.set(self.0.take());
    }
}
