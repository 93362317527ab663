//! Work that runs only once per call, no matter how often the handler runs; effects that are deferred until a call has
//! its final result; and leaving the request, for calls that continue in the background.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;
use std::{fmt, mem};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::context::client_questions::ClientQuestions;
use crate::context::question::{INSIDE_COMMIT, INSIDE_ONCE, is_inside_commit, is_inside_once};
use crate::context::request::DeferredEffects;
use crate::context::watching::{CallSite, StepPoint, WatchedStep, pass};
use crate::context::{
    CallId, ClaimId, Context, OnceClaim, OnceKind, OnceStore, OnceWork, is_refused, patiently,
};
use crate::handler::handler_error::{HandlerError, Result};
use crate::handler::run::{CallOutput, Output};

impl Context {
    /// Runs `work` only once per call, no matter how often the handler runs again with answers from the client.
    ///
    /// ```
    /// # use mcp_runtime::prelude::*;
    /// # async fn charge(_: u32) -> Result<u64> { Ok(7) }
    /// # async fn f(ctx: Context) -> Result<()> {
    /// let receipt = ctx.once("charge", async || charge(250).await).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// The result is stored with the call as JSON and returned when the handler runs again. Errors are not stored, so
    /// work that failed runs again. A round of the call does not end while the work is in progress.
    ///
    /// If a client resends an earlier round, the work runs again, unless the server has a
    /// `once_store`.
    ///
    /// Work that was interrupted, because its process died or its client cancelled the call, may or may not have had
    /// its effect. With a store, or in a task, such work does not run again: the step fails with an error that names
    /// it. For work that can safely be done twice, use [`step`](Self::step).
    ///
    /// Tests can find effects outside such work that occur twice ("Tests" in the guide).
    ///
    /// # Errors
    ///
    /// Returns an error if `work` fails or asks the client a question, if `name` is used twice in the same run, if the
    /// result cannot be converted to JSON and back, or if the outcome of the work is unknown.
    #[track_caller]
    pub fn once<'a, T, W, F>(&'a self, name: impl Into<String>, work: W) -> OnceStep<'a, T>
    where
        T: Serialize + DeserializeOwned,
        W: FnOnce() -> F + Send + 'a,
        F: Future<Output = Result<T>> + Send,
    {
        OnceStep::new(self, name.into(), work, false)
    }

    /// Runs work at least once per call: like [`once`](Self::once), but work that was interrupted runs again. The result is
    /// stored and is returned when the handler runs again.
    ///
    /// Use it for work that may be done twice, such as a download or a request that the receiver recognizes when it is
    /// repeated. The [`Context::call_id`] and the step's name are the same each time, so together they can serve as the
    /// key by which the receiver recognizes it:
    ///
    /// ```
    /// # use mcp_runtime::prelude::*;
    /// # async fn pay(_: String) -> Result<u64> { Ok(7) }
    /// # async fn f(ctx: &Context) -> Result<()> {
    /// let key = format!("{}/pay", ctx.call_id());
    /// let receipt = ctx.step("pay", async || pay(key).await).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// In a plain call, the work can run twice concurrently if the client sends a round twice.
    ///
    /// # Errors
    ///
    /// Same as [`once`](Self::once), except that an unknown outcome is no error.
    #[track_caller]
    pub fn step<'a, T, W, F>(&'a self, name: impl Into<String>, work: W) -> OnceStep<'a, T>
    where
        T: Serialize + DeserializeOwned,
        W: FnOnce() -> F + Send + 'a,
        F: Future<Output = Result<T>> + Send,
    {
        OnceStep::new(self, name.into(), work, true)
    }
}

/// A step of a call, created by [`Context::once`] or [`Context::step`]. The step does not begin until it is awaited.
#[must_use = "a step does not run unless it is awaited"]
pub struct OnceStep<'a, T>(StepState<'a, T>);

/// A step's work, or the step in progress.
type StepFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

enum StepState<'a, T> {
    New {
        context: &'a Context,
        name: String,
        work: StepFuture<'a, T>,
        may_repeat: bool,
        site: CallSite,
    },
    Running(StepFuture<'a, T>),
    Over,
}

impl<'a, T> OnceStep<'a, T> {
    #[track_caller]
    fn new<W, F>(context: &'a Context, name: String, work: W, may_repeat: bool) -> Self
    where
        W: FnOnce() -> F + Send + 'a,
        F: Future<Output = Result<T>> + Send,
    {
        Self(StepState::New {
            context,
            name,
            work: Box::pin(async move { work().await }),
            may_repeat,
            site: CallSite::here(),
        })
    }
}

impl<T> fmt::Debug for OnceStep<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceStep").finish_non_exhaustive()
    }
}

impl<'a, T: Serialize + DeserializeOwned + 'a> Future for OnceStep<'a, T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<Result<T>> {
        let mut running = match mem::replace(&mut self.0, StepState::Over) {
            StepState::New {
                context,
                name,
                work,
                may_repeat,
                site,
            } => {
                let watched = WatchedStep::new(&name, site, may_repeat);
                Box::pin(run(context, name, work, may_repeat, watched))
            }
            StepState::Running(running) => running,
            StepState::Over => return Poll::Pending,
        };
        let polled = running.as_mut().poll(task);
        if polled.is_pending() {
            self.0 = StepState::Running(running);
        }
        polled
    }
}

async fn run<T: Serialize + DeserializeOwned>(
    context: &Context,
    name: String,
    work: StepFuture<'_, T>,
    may_repeat: bool,
    watched: Option<WatchedStep>,
) -> Result<T> {
    let watched = watched.as_ref();
    let asking = context.asking();
    pass(watched, StepPoint::Reached).await;
    if let Some(result) = asking.begin_once(&name)? {
        return Ok(serde_json::from_str(&result)?);
    }
    let mut under_way = OnceInProgress {
        asking,
        name: &name,
        result: None,
    };
    let store = asking.once_store();
    let mut stored = store.map(|store| StoredStep::new(context, store, &name));
    if let Some(stored) = &mut stored
        && let Some(result) = stored.begin(may_repeat).await?
    {
        under_way.result = Some(result);
        return parse_result(under_way.result.as_deref());
    }
    pass(watched, StepPoint::Begun).await;
    let done = InsideOnce(work, watched).await;
    let done = done.and_then(|value| Ok(serde_json::to_string(&value)?));
    pass(watched, StepPoint::Worked).await;
    if let Some(stored) = stored {
        stored.end(done.as_deref().ok()).await?;
    }
    pass(watched, StepPoint::Recorded).await;
    under_way.result = Some(done?);
    parse_result(under_way.result.as_deref())
}

fn parse_result<T: DeserializeOwned>(result: Option<&str>) -> Result<T> {
    Ok(serde_json::from_str(result.unwrap_or("null"))?)
}

/// Time for which a step's result is kept, which is longer than a call can last by default.
const STEP_KEPT: Duration = Duration::from_hours(24);

/// The part of the error message that describes an interrupted step.
pub const UNKNOWN_OUTCOME: &str = "was started before, but its outcome is unknown";

/// A step in a store. If it is dropped while its beginning or its end is being recorded, it goes on recording without
/// the call, which may have been cancelled or have taken too long.
struct StoredStep<'a> {
    context: &'a Context,
    store: Arc<dyn OnceStore>,
    work: StepWork,
    /// `true` if the store has granted the claim of this run.
    is_granted: bool,
    unrecorded: Unrecorded,
}

/// The parts of a step's [`OnceWork`].
#[derive(Clone)]
struct StepWork {
    call: CallId,
    name: Arc<str>,
    claim: ClaimId,
    owner: Arc<str>,
}

/// Something that the store may not know yet.
enum Unrecorded {
    Nothing,
    /// The work has not begun, or has failed, so that it may be claimed again.
    Abandoned,
    /// The work is done, with this result.
    Done(Arc<str>),
}

impl StepWork {
    fn work(&self) -> OnceWork<'_> {
        OnceWork {
            call: self.call,
            name: &self.name,
            claim: self.claim,
            owner: &self.owner,
            kind: OnceKind::STEP,
            note: "",
            kept: STEP_KEPT,
        }
    }
}

impl<'a> StoredStep<'a> {
    fn new(context: &'a Context, store: Arc<dyn OnceStore>, name: &str) -> Self {
        Self {
            context,
            store,
            work: StepWork {
                call: context.asking().call_id(),
                name: name.into(),
                claim: ClaimId::random(),
                owner: context.caller().key().into(),
            },
            is_granted: false,
            unrecorded: Unrecorded::Nothing,
        }
    }

    /// Claims the step. Returns its result if it has already been done.
    async fn begin(&mut self, may_repeat: bool) -> Result<Option<String>> {
        let name = Arc::clone(&self.work.name);
        // Until a reply arrives, the store may have received the claim.
        self.unrecorded = Unrecorded::Abandoned;
        let claim = patiently(|| self.store.begin(self.work.work())).await;
        if claim.as_ref().is_ok() || claim.as_ref().is_err_and(is_refused) {
            self.unrecorded = Unrecorded::Nothing;
        }
        let claim = claim.map_err(|error| {
            tracing::error!(%error, step = &*name, "a step cannot be claimed");
            HandlerError::exposed(format_args!(
                "`{name}` in this call cannot be started, because the server cannot record it at the moment"
            ))
        })?;
        let full = |whose| {
            Err(HandlerError::exposed(format_args!(
                "`{name}` in this call was not started, because the server remembers too many steps of {whose}, each \
                 for up to 24 hours; repeating the call does not help until then"
            )))
        };
        match claim {
            OnceClaim::Granted => self.is_granted = true,
            OnceClaim::Done(result) => return Ok(Some(result)),
            OnceClaim::Taken(_) if may_repeat => {}
            OnceClaim::Taken(_) => {
                return Err(HandlerError::exposed(format_args!(
                    "`{name}` in this call {UNKNOWN_OUTCOME}; it is not run again"
                )));
            }
            OnceClaim::CallerFull => return full("this caller"),
            OnceClaim::Full => return full("all callers together"),
        }
        Ok(None)
    }

    /// Records how the step has ended: with a result, or with an error.
    async fn end(mut self, result: Option<&str>) -> Result<()> {
        if result.is_none() && !self.is_granted {
            // The claim belongs to another run, which may still be in progress.
            return Ok(());
        }
        let name = Arc::clone(&self.work.name);
        self.unrecorded = result.map_or(Unrecorded::Abandoned, |result| {
            Unrecorded::Done(result.into())
        });
        let recorded = patiently(|| match result {
            Some(result) => self.store.complete(self.work.work(), result),
            None => self.store.abandon(self.work.work()),
        });
        let recorded = recorded.await;
        if recorded.as_ref().is_ok() || recorded.as_ref().is_err_and(is_refused) {
            self.unrecorded = Unrecorded::Nothing;
        }
        match recorded {
            Ok(()) => Ok(()),
            Err(error) if result.is_none() => {
                // The model gets the step's own error.
                tracing::error!(%error, step = &*name, "the failure of a step cannot be recorded");
                Ok(())
            }
            Err(error) => {
                tracing::error!(%error, step = &*name, "the result of a step cannot be recorded");
                Err(HandlerError::exposed(format_args!(
                    "`{name}` in this call was started and may have been done, but the server could not record its \
                     result, so its outcome is unknown; check what it has done before you repeat the call"
                )))
            }
        }
    }
}

impl Drop for StoredStep<'_> {
    fn drop(&mut self) {
        let unrecorded = mem::replace(&mut self.unrecorded, Unrecorded::Nothing);
        if matches!(unrecorded, Unrecorded::Nothing) {
            return;
        }
        let (store, work) = (Arc::clone(&self.store), self.work.clone());
        self.context.server().spawn(async move {
            let recorded = patiently(|| match &unrecorded {
                Unrecorded::Done(result) => store.complete(work.work(), result),
                Unrecorded::Nothing | Unrecorded::Abandoned => store.abandon(work.work()),
            });
            if let Err(error) = recorded.await {
                tracing::error!(%error, step = &*work.name, "the end of a step cannot be recorded");
            }
        });
    }
}

/// Work in progress, whose result is reported when this value is dropped.
struct OnceInProgress<'a> {
    asking: &'a ClientQuestions,
    name: &'a str,
    result: Option<String>,
}

impl Drop for OnceInProgress<'_> {
    fn drop(&mut self) {
        self.asking.end_once(self.name, self.result.as_deref());
    }
}

/// Polls a future so that questions asked within it can detect that they are inside [`Context::once`].
struct InsideOnce<'a, T>(StepFuture<'a, T>, Option<&'a WatchedStep>);

impl<T> Future for InsideOnce<'_, T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<Result<T>> {
        struct RestoreInside(bool);
        impl Drop for RestoreInside {
            fn drop(&mut self) {
                INSIDE_ONCE.set(self.0);
            }
        }
        let _restore = RestoreInside(INSIDE_ONCE.replace(true));
        let _entered = self.1.map(WatchedStep::enter);
        self.0.as_mut().poll(task)
    }
}

impl Context {
    /// Defers an effect until the handler has returned its final, successful result.
    ///
    /// ```
    /// # use mcp_runtime::prelude::*;
    /// # #[derive(Elicit)] struct Sure { sure: bool }
    /// # async fn mail(_: &str) -> Result<()> { Ok(()) }
    /// /// Publishes a page.
    /// #[tool]
    /// async fn publish(ctx: Context, page: String) -> Result<String> {
    ///     ctx.on_commit({
    ///         let page = page.clone();
    ///         async move { mail(&page).await }
    ///     });
    ///     let Sure { sure } = ctx.elicit("Really publish?").await?;
    ///     if !sure {
    ///         bail!("the user does not want to publish {page}"); // no mail
    ///     }
    ///     Ok(format!("{page} is public")) // the mail is sent, then the answer
    /// }
    /// ```
    ///
    /// A handler can run several times in one call: once for each round of questions, and again if the process that
    /// runs it as a task dies. Effects of runs that do not produce the final result are dropped without being started.
    /// The others run one after another, in the order in which they were deferred, before the answer is sent.
    ///
    /// They are dropped if the handler fails, panics or takes too long, or if its call is cancelled. A tool result that
    /// has [`is_error`](crate::types::CallToolResult::is_error) set is a failure.
    ///
    /// Their run time counts toward the call's timeout. If one of them fails, the call fails with its error and the
    /// remaining effects do not run. If the process dies between an effect and the answer, the effect runs again when
    /// the task is resumed or the round is sent again. As in the handler, [`once`](Self::once) prevents that.
    ///
    /// An effect cannot ask the client questions. Deferring an effect inside `once` makes the call fail, because work
    /// inside `once` is not repeated when the handler runs again.
    pub fn on_commit(&self, effect: impl Future<Output = Result<()>> + Send + 'static) {
        if is_inside_once() {
            return self.effects().defer(Box::pin(async {
                Err(HandlerError::opaque(
                    "`on_commit` cannot be used inside `once`; use it before or afterwards",
                ))
            }));
        }
        self.effects().defer(Box::pin(effect));
    }

    /// Runs the deferred effects if the handler has succeeded, and drops them otherwise.
    pub(crate) async fn commit(&self, output: Output) -> Output {
        let effects = self.effects();
        if !effects.has_deferred() {
            return output;
        }
        if !is_success(&output) {
            drop(effects.take_deferred());
            return output;
        }
        let _committing = Committing::begin(effects);
        // An effect can defer further effects.
        while effects.has_deferred() {
            for mut effect in effects.take_deferred() {
                poll_fn(|task| {
                    let _inside = InsideCommit::enter();
                    effect.as_mut().poll(task)
                })
                .await?;
            }
        }
        output
    }
}

/// Returns `true` if this output means that the handler has succeeded.
fn is_success(output: &Output) -> bool {
    match output {
        Ok(CallOutput::Tool(result)) => !result.is_error,
        Ok(_) => true,
        Err(_) => false,
    }
}

/// Marks a call while its deferred effects are running.
struct Committing<'a>(&'a DeferredEffects);

impl<'a> Committing<'a> {
    fn begin(effects: &'a DeferredEffects) -> Self {
        effects.set_committing(true);
        Self(effects)
    }
}

impl Drop for Committing<'_> {
    fn drop(&mut self) {
        self.0.set_committing(false);
    }
}

struct InsideCommit(bool);

impl InsideCommit {
    fn enter() -> Self {
        Self(INSIDE_COMMIT.replace(true))
    }
}

impl Drop for InsideCommit {
    fn drop(&mut self) {
        INSIDE_COMMIT.set(self.0);
    }
}

impl Context {
    /// Leaves the request if the call can continue in the background: the handler waits here until it is dropped. In all
    /// other calls, this does nothing. `method` is the method that the author has called.
    #[doc(hidden)]
    pub async fn leave_request(&self, method: &str) {
        if is_inside_once() || is_inside_commit() {
            tracing::error!(
                "`{method}` was called inside `once` or `on_commit`, where it does nothing"
            );
            return;
        }
        if let Some(leaving) = self.leaving() {
            leaving.cancel();
            std::future::pending::<()>().await;
        }
    }
}
