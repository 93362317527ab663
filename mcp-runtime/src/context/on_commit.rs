//! Effects that are deferred until a call has its final result.

use std::cell::Cell;
use std::future::{Future, poll_fn};

use crate::context::Context;
use crate::context::call_ending::CallEnding;
use crate::context::once::is_inside_once;
use crate::handler::call::{CallOutput, Output};
use crate::handler::handler_error::{HandlerError, Result};

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
            return self.call().ending().defer(Box::pin(async {
                Err(HandlerError::opaque(
                    "`on_commit` cannot be used inside `once`; use it before or afterwards",
                ))
            }));
        }
        self.call().ending().defer(Box::pin(effect));
    }

    /// Runs the deferred effects if the handler has succeeded, and drops them otherwise.
    pub(crate) async fn commit(&self, output: Output) -> Output {
        let ending = self.call().ending();
        if !ending.has_deferred() {
            return output;
        }
        if !is_success(&output) {
            drop(ending.take_deferred());
            return output;
        }
        let _committing = Committing::begin(ending);
        // An effect can defer further effects.
        while ending.has_deferred() {
            for mut effect in ending.take_deferred() {
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
struct Committing<'a>(&'a CallEnding);

impl<'a> Committing<'a> {
    fn begin(ending: &'a CallEnding) -> Self {
        ending.set_committing(true);
        Self(ending)
    }
}

impl Drop for Committing<'_> {
    fn drop(&mut self) {
        self.0.set_committing(false);
    }
}

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Returns `true` while this thread is polling a deferred effect.
pub(crate) fn is_inside_commit() -> bool {
    INSIDE.get()
}

struct InsideCommit(bool);

impl InsideCommit {
    fn enter() -> Self {
        Self(INSIDE.replace(true))
    }
}

impl Drop for InsideCommit {
    fn drop(&mut self) {
        INSIDE.set(self.0);
    }
}
