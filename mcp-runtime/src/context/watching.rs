//! Shows a test the steps and questions of a handler as it runs, and lets the process "die" at one of them.
//!
//! Only in builds with the feature `testing`; `unwatched.rs` has the same names and does nothing.

use std::cell::RefCell;
use std::fmt;
use std::panic::Location;
use std::rc::Rc;
use std::sync::Arc;

use crate::context::ask::CallQuestion;
use crate::types::InputRequest;

/// A line in the author's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CallSite {
    file: &'static str,
    line: u32,
}

impl CallSite {
    /// Returns the line that called the function this is called from, if that function is `#[track_caller]`.
    #[track_caller]
    pub(crate) fn here() -> Self {
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

/// A step of a handler: one `once`.
#[derive(Clone, Debug)]
pub(crate) struct WatchedStep {
    pub(crate) name: Arc<str>,
    pub(crate) site: CallSite,
    pub(crate) may_repeat: bool,
}

/// A point in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepPoint {
    /// The handler has come to the step.
    Reached,
    /// The step is under way, and its work begins next.
    Begun,
    /// The work is done, and its result is not recorded yet.
    Worked,
    /// The result is recorded.
    Recorded,
}

/// A point in a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QuestionPoint {
    Asked,
    Answered,
}

/// A question of a handler.
pub(crate) struct WatchedQuestion<'q> {
    pub(crate) site: CallSite,
    pub(crate) digest: &'q str,
    /// The message of an elicitation, or the name of another question.
    pub(crate) text: &'q str,
}

/// A test that watches the handlers of this thread. Each `true` means that the process is dead: the handler does not go on.
pub(crate) trait RunWatcher {
    /// A handler is about to run, perhaps again.
    fn begin_run(&self);
    fn pass_step(&self, step: &WatchedStep, point: StepPoint) -> bool;
    fn pass_question(&self, question: &WatchedQuestion<'_>, point: QuestionPoint) -> bool;
}

thread_local! {
    static WATCHER: RefCell<Option<Rc<dyn RunWatcher>>> = const { RefCell::new(None) };
    /// The step whose work this thread is polling.
    static STEP: RefCell<Option<WatchedStep>> = const { RefCell::new(None) };
}

/// Sets the watcher of this thread.
pub(crate) fn watch(watcher: Option<Rc<dyn RunWatcher>>) {
    WATCHER.set(watcher);
}

/// Returns the step whose work this thread is polling.
pub(crate) fn current_step() -> Option<WatchedStep> {
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

/// Returns `true` if the process dies at this point of a question.
pub(crate) fn dies_at(question: &CallQuestion, site: CallSite, point: QuestionPoint) -> bool {
    let Some(watcher) = watcher() else {
        return false;
    };
    let text = match &question.request {
        InputRequest::Form { message, .. } | InputRequest::Url { message, .. } => message,
        InputRequest::Sample(_) => "sampling",
        InputRequest::Roots => "roots",
        // A forwarded question is that of another call.
        _ => return false,
    };
    let digest = &question.identity.digest;
    watcher.pass_question(&WatchedQuestion { site, digest, text }, point)
}

impl WatchedStep {
    pub(crate) fn new(name: &str, site: CallSite, may_repeat: bool) -> Self {
        Self {
            name: name.into(),
            site,
            may_repeat,
        }
    }

    /// Passes a point, unless the process dies there.
    pub(crate) async fn pass(&self, point: StepPoint) {
        if watcher().is_some_and(|watcher| watcher.pass_step(self, point)) {
            std::future::pending::<()>().await;
        }
    }

    /// Marks the step as the one that this thread is polling, until the returned value is dropped.
    pub(crate) fn enter(&self) -> EnteredStep {
        EnteredStep(STEP.replace(Some(self.clone())))
    }
}

/// The step that was polled before.
pub(crate) struct EnteredStep(Option<WatchedStep>);

impl Drop for EnteredStep {
    fn drop(&mut self) {
        STEP.set(self.0.take());
    }
}
