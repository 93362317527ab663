//! Calls that continue independently of the request that started them.
//!
//! An extension's middleware detaches a call from its request, runs it later, and reruns it each time it has had to
//! wait for input from its client. This module describes such calls; `dispatch` runs them.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::OwnedSemaphorePermit;

use crate::context::OwnSteps;
use crate::context::{Context, OnceStore, Progress};
use crate::handler::middleware::{BackgroundPermit, Next};
use crate::handler::option::{AttachedOption, ToolOption, find_option};
use crate::handler::run::Output;
use crate::jsonrpc::ErrorObject;
use crate::sync::lock;

/// A call that has been moved to the background with
/// [`Call::into_background`](crate::handler::middleware::Call::into_background). It can run after the response has been sent,
/// and can be rerun from the start with the answers to its questions. Cheap to clone.
///
/// The call keeps the caller, the client's capabilities and the request's data, but not the connection: the call's log
/// messages and notifications are discarded, and its progress is reported to [`BackgroundRun::on_progress`].
#[derive(Clone)]
pub struct BackgroundCall {
    pub(crate) name: Arc<str>,
    pub(crate) arguments: Arc<str>,
    pub(crate) next: Next,
    pub(crate) journal: Arc<str>,
    pub(crate) runner: Arc<dyn BackgroundRunner>,
}

/// Runs a call in the background. Implemented by `dispatch`.
pub(crate) trait BackgroundRunner: Send + Sync {
    /// Waits for a permit if the handler's concurrency is limited.
    fn permit(
        self: Arc<Self>,
    ) -> Pin<Box<dyn Future<Output = Option<OwnedSemaphorePermit>> + Send>>;
    /// Returns a permit if one is available or if the handler's concurrency is not limited.
    fn try_permit(&self) -> Option<BackgroundPermit>;
    /// Returns the tool's options that add-ons define.
    fn options(&self) -> &[AttachedOption];
    /// Returns the size of the request's data in bytes, excluding the arguments.
    fn request_size(&self) -> usize;
    /// Returns the call with these arguments in its stored form, or `None` if the call cannot be stored.
    fn to_text(&self, arguments: &str) -> Option<String>;
    /// Runs the handler, wrapped in `next`, with these arguments.
    fn run(
        self: Arc<Self>,
        next: Next,
        arguments: Arc<str>,
        run: BackgroundRun,
    ) -> BackgroundFuture;
    /// Like [`run`](Self::run), but as long as the request is waiting, the run communicates with the request's client
    /// and ends with the answer to the request.
    fn run_attached(
        self: Arc<Self>,
        next: Next,
        arguments: Arc<str>,
        run: BackgroundRun,
        request: WaitingRequest,
    ) -> AttachedFuture;
}

/// The future of a run.
pub(crate) type BackgroundFuture = Pin<Box<dyn Future<Output = BackgroundOutcome> + Send>>;

/// The future of a run for which a request is waiting.
pub type AttachedFuture = Pin<Box<dyn Future<Output = AttachedEnd> + Send>>;

/// The outcome of a run for which a request is waiting or has waited.
pub enum AttachedEnd {
    /// The handler's output, for the response.
    Output(Output),
    /// The handler panicked.
    Panicked(String),
    /// The call needs answers.
    InputRequired {
        /// The journal, from which the next run continues.
        journal: String,
        /// What the client is asked.
        questions: Vec<BackgroundQuestion>,
    },
    /// The request is no longer waiting.
    Background(BackgroundOutcome),
}

/// The request that is waiting for a run, until it stops waiting.
#[derive(Clone)]
pub struct WaitingRequest(Arc<Mutex<Option<Context>>>);

impl WaitingRequest {
    /// Returns the request whose call has this context.
    #[must_use]
    pub fn new(context: Context) -> Self {
        Self(Arc::new(Mutex::new(Some(context))))
    }

    /// Returns the request's context while the request is waiting.
    pub(crate) fn context(&self) -> Option<Context> {
        lock(&self.0).clone()
    }

    /// Detaches the run from the request. Must not be called while the run is being polled.
    pub fn leave(&self) {
        let context = lock(&self.0).take();
        drop(context);
    }
}

impl BackgroundCall {
    /// Returns the name of the tool or prompt, or the URI of the resource.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the size in bytes of the data that the call keeps: its arguments, its journal, and its request's `_meta`
    /// and HTTP headers.
    #[must_use]
    pub fn size(&self) -> usize {
        let own = self.name.len() + self.arguments.len() + self.journal.len();
        own.saturating_add(self.runner.request_size())
    }

    /// Returns the tool's option of this type.
    #[doc(hidden)]
    #[must_use]
    pub fn option<T: ToolOption>(&self) -> Option<&T> {
        find_option(self.runner.options())
    }

    /// Returns the journal for the call's first run, which contains its id and, if its request continued an earlier
    /// round, the answers and the results of [`Context::once`](crate::context::Context::once).
    #[must_use]
    pub fn journal(&self) -> &str {
        &self.journal
    }

    /// Returns the call as text, from which [`ServerHandle::restore_call`](crate::context::ServerHandle::restore_call) can
    /// recreate it in this process or another. Returns `None` if the call is not a tool call.
    ///
    /// The text contains the arguments, the caller with its scopes and claims, the client's capabilities, and `_meta`,
    /// so protect it as carefully as that data. The text contains neither the journal, which changes with each run, nor
    /// any part of an HTTP request, so a restored call has no headers, URL, extensions, addresses or session.
    #[must_use]
    pub fn to_text(&self) -> Option<String> {
        self.runner.to_text(&self.arguments)
    }

    /// Waits until the tool's `concurrency` option allows the call to run, however long this takes. If a
    /// [`BackgroundRun`] does not include a permit, its run waits for one itself and fails if too many calls are
    /// already waiting.
    pub fn permit(&self) -> impl Future<Output = BackgroundPermit> + Send + use<> {
        let waiting = Arc::clone(&self.runner).permit();
        async move { BackgroundPermit(waiting.await) }
    }

    /// Like [`permit`](Self::permit), but returns `None` instead of waiting.
    #[must_use]
    pub fn try_permit(&self) -> Option<BackgroundPermit> {
        self.runner.try_permit()
    }

    /// Runs the call from the beginning until it ends or needs answers that are not available yet. Dropping the future
    /// cancels the run.
    ///
    /// The tool's own limits apply: `concurrency`, `max_output`, and, for each run, `timeout`.
    pub fn run(
        &self,
        run: BackgroundRun,
    ) -> impl Future<Output = BackgroundOutcome> + Send + use<> {
        let runner = Arc::clone(&self.runner);
        runner.run(self.next.clone(), Arc::clone(&self.arguments), run)
    }

    /// Runs the call while its request is waiting.
    #[doc(hidden)]
    #[must_use]
    pub fn run_attached(&self, run: BackgroundRun, request: WaitingRequest) -> AttachedFuture {
        let (runner, next) = (Arc::clone(&self.runner), self.next.clone());
        runner.run_attached(next, Arc::clone(&self.arguments), run, request)
    }
}

impl fmt::Debug for BackgroundCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackgroundCall")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// The client's answer to a question: its result as JSON, or its error.
pub type QuestionAnswer = Result<Box<RawValue>, ErrorObject>;

/// The input of one run of a [`BackgroundCall`].
pub struct BackgroundRun {
    pub(crate) journal: String,
    pub(crate) answers: BTreeMap<String, QuestionAnswer>,
    pub(crate) steps: Option<OwnSteps>,
    pub(crate) on_progress: Box<dyn Fn(&Progress) + Send + Sync>,
    pub(crate) permit: Option<OwnedSemaphorePermit>,
    /// The minimum time for which a result that is too large is kept.
    pub(crate) results_for: Option<Duration>,
}

impl BackgroundRun {
    /// Creates the input for a run with this journal, which is either [`BackgroundCall::journal`] or the journal from
    /// the last [`BackgroundOutcome::InputRequired`].
    pub fn new(journal: impl Into<String>) -> Self {
        Self {
            journal: journal.into(),
            answers: BTreeMap::new(),
            steps: None,
            on_progress: Box::new(|_| {}),
            permit: None,
            results_for: None,
        }
    }

    /// Sets the minimum time for which a result that is too large is kept, because the task can be read for that long.
    #[must_use]
    #[doc(hidden)]
    pub fn keep_results_for(mut self, time: Duration) -> Self {
        self.results_for = Some(time);
        self
    }

    /// Sets the permit, obtained from [`BackgroundCall::permit`], that the run holds.
    #[must_use]
    pub fn permit(mut self, permit: BackgroundPermit) -> Self {
        self.permit = permit.0;
        self
    }

    /// Adds answers, each under the key of its question. Answers to questions that are not open in the journal are
    /// ignored.
    #[must_use]
    pub fn answers(mut self, answers: impl IntoIterator<Item = (String, QuestionAnswer)>) -> Self {
        self.answers.extend(answers);
        self
    }

    /// Keeps the results of [`Context::once`](crate::context::Context::once) in this store instead of the journal, so that they
    /// are kept even if the run does not finish. If the server has a store for these results, they are also kept there,
    /// because a request with the same call id may do the same work.
    #[must_use]
    pub fn steps(self, store: Arc<dyn OnceStore>) -> Self {
        self.own_steps(OwnSteps {
            store,
            suffice: Arc::default(),
        })
    }

    /// Like [`steps`](Self::steps), but does not use the server's store while the call's own store suffices.
    #[must_use]
    #[doc(hidden)]
    pub fn own_steps(mut self, steps: OwnSteps) -> Self {
        self.steps = Some(steps);
        self
    }

    /// Calls the function with every progress report. The function must not block.
    #[must_use]
    pub fn on_progress(mut self, function: impl Fn(&Progress) + Send + Sync + 'static) -> Self {
        self.on_progress = Box::new(function);
        self
    }
}

impl fmt::Debug for BackgroundRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackgroundRun").finish_non_exhaustive()
    }
}

/// The outcome of one run of a [`BackgroundCall`].
#[derive(Debug)]
pub enum BackgroundOutcome {
    /// The call has ended with a result.
    Done {
        /// The `result` that would have been sent in response to the request.
        result: Box<RawValue>,
        /// `true` if this is the result of a failed tool.
        is_error: bool,
    },
    /// The call has ended with a protocol error.
    Failed(ErrorObject),
    /// The call needs answers. Run the call again with the journal and the answers to all questions.
    InputRequired {
        /// The call's journal.
        journal: String,
        /// The questions.
        questions: Vec<BackgroundQuestion>,
    },
}

/// A question asked by a [`BackgroundCall`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BackgroundQuestion {
    /// The key, which is unique among the questions that are open at the same time.
    pub key: String,
    /// The method, such as `elicitation/create`.
    pub method: &'static str,
    /// The method's parameters, in the form required by the client's protocol version.
    pub params: Value,
}

impl BackgroundQuestion {
    /// Returns a question of this method.
    #[doc(hidden)]
    #[must_use]
    pub fn new(key: String, method: &'static str, params: Value) -> Self {
        Self {
            key,
            method,
            params,
        }
    }
}
