//! Work that runs only once per call, no matter how often the handler runs.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::context::ask::QuestionTransport;
use crate::context::{Context, OnceClaim};
use crate::handler::handler_error::{HandlerError, Result};

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
    /// [`once_store`](crate::Server::once_store).
    ///
    /// # Errors
    ///
    /// Returns an error if `work` fails or asks the client a question, if `name` is used twice in one run, or if the
    /// result cannot be converted to JSON and back.
    pub async fn once<T, W, F>(&self, name: impl Into<String> + Send, work: W) -> Result<T>
    where
        T: Serialize + DeserializeOwned,
        W: FnOnce() -> F + Send,
        F: Future<Output = Result<T>> + Send,
    {
        let name = name.into();
        let asking = self.asking();
        if let Some(result) = asking.begin_once(&name)? {
            return Ok(serde_json::from_str(&result)?);
        }
        let mut under_way = OnceInProgress {
            asking,
            name: &name,
            result: None,
        };
        let store = asking.once_store();
        let call = asking.call_id();
        if let Some(store) = &store {
            match store
                .begin(call, &name)
                .await
                .map_err(HandlerError::opaque)?
            {
                OnceClaim::Granted => {}
                OnceClaim::Done(result) => {
                    under_way.result = Some(result);
                    return parse_result(under_way.result.as_deref());
                }
                OnceClaim::Taken => {
                    return Err(HandlerError::exposed(format_args!(
                        "`{name}` of this call was started before and its outcome is unknown; it is not run again"
                    )));
                }
            }
        }
        let done = InsideOnce(Box::pin(work())).await;
        let done = done.and_then(|value| Ok(serde_json::to_string(&value)?));
        if let Some(store) = &store {
            match &done {
                Ok(result) => store.complete(call, &name, result).await,
                Err(_) => store.abandon(call, &name).await,
            }
            .map_err(HandlerError::opaque)?;
        }
        under_way.result = Some(done?);
        parse_result(under_way.result.as_deref())
    }
}

fn parse_result<T: DeserializeOwned>(result: Option<&str>) -> Result<T> {
    Ok(serde_json::from_str(result.unwrap_or("null"))?)
}

/// Work in progress; reports its result when dropped.
struct OnceInProgress<'a> {
    asking: &'a dyn QuestionTransport,
    name: &'a str,
    result: Option<String>,
}

impl Drop for OnceInProgress<'_> {
    fn drop(&mut self) {
        self.asking.end_once(self.name, self.result.as_deref());
    }
}

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Returns `true` while this thread is polling work that must run only once.
pub(crate) fn is_inside_once() -> bool {
    INSIDE.get()
}

/// Polls a future so that questions asked within it can detect that they are inside [`Context::once`].
struct InsideOnce<'a, T>(Pin<Box<dyn Future<Output = T> + Send + 'a>>);

impl<T> Future for InsideOnce<'_, T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<T> {
        struct Restore(bool);
        impl Drop for Restore {
            fn drop(&mut self) {
                INSIDE.set(self.0);
            }
        }
        let _restore = Restore(INSIDE.replace(true));
        self.0.as_mut().poll(task)
    }
}
