//! Work that runs once per call, however often its handler runs.

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context as TaskContext, Poll};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::context::Context;
use crate::context::ask::Asking;
use crate::handler::handler_error::{HandlerError, Result};

/// The id of a call: the same in all rounds of the call, and unique to it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub(crate) [u8; 16]);

impl CallId {
    /// Returns its bytes, which come from the operating system's random number generator.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl fmt::Debug for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CallId({self})")
    }
}

impl Context {
    /// Runs `work` once per call, however often the handler runs again with answers from the client.
    ///
    /// ```
    /// # use mcp_runtime::prelude::*;
    /// # async fn charge(_: u32) -> Result<u64> { Ok(7) }
    /// # async fn f(ctx: Context) -> Result<()> {
    /// let receipt = ctx.once("charge", async || charge(250).await).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// The result is kept with the call, as JSON, and returned when the handler runs again. An error is not kept: then the
    /// work runs again. A round of the call does not end while the work is in progress.
    ///
    /// If a client resends an earlier round, the work runs again, unless the server has a
    /// [`once_store`](crate::Server::once_store).
    ///
    /// # Errors
    ///
    /// If `work` fails, if it asks the client a question, if the name is used twice in one run, or if the result cannot be
    /// converted to JSON and back.
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
        let mut under_way = UnderWay {
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
                    return read(under_way.result.as_deref());
                }
                OnceClaim::Taken => {
                    return Err(HandlerError::exposed(format_args!(
                        "`{name}` of this call was started before and its outcome is unknown; it is not run again"
                    )));
                }
            }
        }
        let done = Inside(Box::pin(work())).await;
        let done = done.and_then(|value| Ok(serde_json::to_string(&value)?));
        if let Some(store) = &store {
            match &done {
                Ok(result) => store.complete(call, &name, result).await,
                Err(_) => store.abandon(call, &name).await,
            }
            .map_err(HandlerError::opaque)?;
        }
        under_way.result = Some(done?);
        read(under_way.result.as_deref())
    }
}

fn read<T: DeserializeOwned>(result: Option<&str>) -> Result<T> {
    Ok(serde_json::from_str(result.unwrap_or("null"))?)
}

/// Work in progress; reports its result when dropped.
struct UnderWay<'a> {
    asking: &'a dyn Asking,
    name: &'a str,
    result: Option<String>,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.asking.end_once(self.name, self.result.as_deref());
    }
}

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Returns `true` while this thread polls work that runs once.
pub(crate) fn is_inside() -> bool {
    INSIDE.get()
}

/// Polls a future so that questions in it can tell that they are inside of [`Context::once`].
struct Inside<'a, T>(Pin<Box<dyn Future<Output = T> + Send + 'a>>);

impl<T> Future for Inside<'_, T> {
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

/// The future returned by the methods of a [`OnceStore`].
pub type StoreFuture<'a, T> = Pin<
    Box<
        dyn Future<Output = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>>
            + Send
            + 'a,
    >,
>;

/// The response of a [`OnceStore`] to a claim on some work.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnceClaim {
    /// The caller may do the work; no other claim is granted.
    Granted,
    /// The work is done, with this result.
    Done(String),
    /// The work was started by another claim, which has not reported an outcome and perhaps never will.
    Taken,
}

/// A store of the work done by [`Context::once`], which guarantees "at max once" even if a client resends a round.
///
/// **Open**: implement it on a database that all instances of a server share. [`begin`](Self::begin) must be atomic: of two
/// claims on the same work, only one is granted. Granted work stays taken until it is completed or abandoned; if an instance
/// dies in between, the work stays taken, because its outcome is unknown. Entries can be deleted after the maximum duration
/// of a call: [`limits.elicitation.state_timeout`](crate::Limits) times [`limits.elicitation.max_rounds`](crate::Limits).
pub trait OnceStore: Send + Sync + 'static {
    /// Claims the work `name` of this call.
    fn begin<'a>(&'a self, call: CallId, name: &'a str) -> StoreFuture<'a, OnceClaim>;

    /// Records that the work is done, with its result as JSON.
    fn complete<'a>(&'a self, call: CallId, name: &'a str, result: &'a str) -> StoreFuture<'a, ()>;

    /// Records that the work failed and may be claimed again.
    fn abandon<'a>(&'a self, call: CallId, name: &'a str) -> StoreFuture<'a, ()>;
}

/// A store in the memory of this process: sufficient for a server of one instance, until it restarts.
///
/// Holds at max 10,000 entries, each for six hours, which is longer than a call can last by default. When it is full, new
/// claims fail: dropping entries would break the guarantee.
#[derive(Debug)]
pub struct MemoryOnceStore {
    entries: Mutex<Entries>,
    max: usize,
    keep: Duration,
}

/// Start times of work, and results of completed work.
type Entries = HashMap<(CallId, Box<str>), (Instant, Option<Box<str>>)>;

impl Default for MemoryOnceStore {
    fn default() -> Self {
        Self {
            entries: Mutex::default(),
            max: 10_000,
            keep: Duration::from_hours(6),
        }
    }
}

impl MemoryOnceStore {
    /// Creates an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn entries(&self) -> std::sync::MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn claim(&self, call: CallId, name: &str) -> Option<OnceClaim> {
        let mut entries = self.entries();
        match entries.get(&(call, name.into())) {
            Some((_, Some(result))) => return Some(OnceClaim::Done(result.to_string())),
            Some((_, None)) => return Some(OnceClaim::Taken),
            None => {}
        }
        if entries.len() >= self.max {
            entries.retain(|_, (begun, _)| begun.elapsed() < self.keep);
        }
        if entries.len() >= self.max {
            return None;
        }
        entries.insert((call, name.into()), (Instant::now(), None));
        Some(OnceClaim::Granted)
    }
}

impl OnceStore for MemoryOnceStore {
    fn begin<'a>(&'a self, call: CallId, name: &'a str) -> StoreFuture<'a, OnceClaim> {
        let claim = self.claim(call, name);
        Box::pin(async { claim.ok_or_else(|| "the store of completed work is full".into()) })
    }

    fn complete<'a>(&'a self, call: CallId, name: &'a str, result: &'a str) -> StoreFuture<'a, ()> {
        if let Some((_, kept)) = self.entries().get_mut(&(call, name.into())) {
            *kept = Some(result.into());
        }
        Box::pin(async { Ok(()) })
    }

    fn abandon<'a>(&'a self, call: CallId, name: &'a str) -> StoreFuture<'a, ()> {
        self.entries().remove(&(call, name.into()));
        Box::pin(async { Ok(()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn of_two_that_want_to_begin_one_is_granted() {
        let store = MemoryOnceStore {
            max: 2,
            ..MemoryOnceStore::new()
        };
        let (one, other) = (CallId([1; 16]), CallId([2; 16]));
        assert_eq!(store.begin(one, "a").await.unwrap(), OnceClaim::Granted);
        assert_eq!(store.begin(one, "a").await.unwrap(), OnceClaim::Taken);
        assert_eq!(store.begin(other, "a").await.unwrap(), OnceClaim::Granted);
        store.complete(one, "a", "7").await.unwrap();
        assert_eq!(
            store.begin(one, "a").await.unwrap(),
            OnceClaim::Done("7".into())
        );
        // When the store is full, nothing is dropped to make room.
        assert!(store.begin(one, "b").await.is_err());
        store.abandon(other, "a").await.unwrap();
        assert_eq!(store.begin(other, "a").await.unwrap(), OnceClaim::Granted);
    }
}
