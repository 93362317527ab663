//! Resources behind which is a service that can only be asked: it is asked regularly, and clients are notified of changes.

use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use mcp_core::context::{HookFuture, NeededState, TakenStates};
use mcp_core::error::{BoxError, Causes};
use mcp_core::handler::rules;
use mcp_core::host::{sleep, timeout};
use mcp_core::random::random;
use mcp_core::spawn::catch;

use crate::context::{MakeState, ServeHook, ServerHandle};
use crate::server::Server;

/// The shortest time between two fetches.
const MIN_INTERVAL: Duration = Duration::from_millis(100);

/// The longest time between two fetches that fail, unless the interval itself is longer.
const MAX_FAILING_INTERVAL: Duration = Duration::from_mins(15);

/// The time that a fetch may take, unless the interval is longer.
const FETCH_TIMEOUT: Duration = Duration::from_secs(30);

impl Server {
    /// Asks for something regularly, and notifies the clients that are subscribed to `uri` when the answer has changed: for
    /// a service behind the server that cannot notify by itself. Can be called for several URIs.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use mcp_runtime::prelude::*;
    /// # struct Api;
    /// # impl Api { async fn etag(&self, _: &str) -> std::io::Result<String> { Ok(String::new()) } }
    /// let server = new_server!()
    ///     .state(Api)
    ///     .watch("tickets:///open", Duration::from_secs(30), async |api: State<Api>| api.etag("tickets").await);
    /// ```
    ///
    /// `fetch` is an async function or closure that takes state like the function of [`state_with`](Self::state_with). It
    /// returns what is compared: the content itself or, if there is one, its version. The first value counts as a change,
    /// because the content may have changed since a client read it.
    ///
    /// The server asks from the moment it serves ([`on_serve`](Self::on_serve)), and only while a client is subscribed. If
    /// several instances share their notifications, it asks all the time, because clients of other instances may be subscribed.
    /// Each interval is up to a tenth shorter or longer, so that instances do not ask at the same time. A fetch that fails,
    /// panics or takes longer than the interval (at least 30 seconds) is logged, and the interval doubles each time, up to
    /// 15 minutes.
    ///
    /// Start-up fails if `uri` is invalid, or `every` is shorter than a tenth of a second.
    #[track_caller]
    pub fn watch<T, E, P>(
        mut self,
        uri: impl Into<String>,
        every: Duration,
        fetch: impl MakeState<T, E, P>,
    ) -> Self
    where
        T: PartialEq + Send + 'static,
        E: Into<BoxError> + 'static,
        P: 'static,
    {
        let uri = uri.into();
        if let Err(problem) = rules::uri(&uri).into_result() {
            self.faults.push(format!("`watch`: {problem}"));
        }
        if every < MIN_INTERVAL {
            self.faults.push(format!(
                "`watch` of `{uri}`: the interval is shorter than a tenth of a second"
            ));
        }
        let watch = Watch {
            server: self.handle(),
            uri,
            every,
            fetch,
            _types: Watched(PhantomData, PhantomData),
        };
        self.on_serve(watch)
    }
}

/// What is asked, and for whom.
struct Watch<F, T, E, P> {
    server: ServerHandle,
    uri: String,
    every: Duration,
    fetch: F,
    _types: Watched<T, E, P>,
}

/// Tells the types of a [`Watch`] as a hook.
struct Watched<T, E, P>(PhantomData<fn() -> Result<T, E>>, PhantomData<fn(P)>);

impl<F, T, E, P> ServeHook<Watched<T, E, P>> for Watch<F, T, E, P>
where
    F: MakeState<T, E, P>,
    T: PartialEq + Send + 'static,
    E: Into<BoxError> + 'static,
    P: 'static,
{
    fn needs() -> Vec<NeededState> {
        F::needs()
    }

    fn run(self, states: TakenStates) -> Option<HookFuture> {
        let server = self.server.clone();
        server.spawn(async move {
            let stopping = self.server.stopping();
            let watching = self.ask_regularly(states);
            tokio::select! {
                biased;
                () = stopping => {}
                () = watching => {}
            }
        });
        Some(Box::pin(std::future::ready(Ok(()))))
    }
}

impl<F, T, E, P> Watch<F, T, E, P>
where
    F: MakeState<T, E, P>,
    T: PartialEq,
    E: Into<BoxError>,
{
    async fn ask_regularly(&self, states: TakenStates) {
        let notify = self.server.notify();
        let (mut last, mut failures) = (None, 0_u32);
        loop {
            sleep(jittered(interval(self.every, failures))).await;
            if !notify.has_subscribers(&self.uri) {
                continue;
            }
            match self.ask(states.clone()).await {
                Ok(new) => {
                    failures = 0;
                    if last.as_ref() != Some(&new) {
                        last = Some(new);
                        notify.resource_updated(&self.uri);
                    }
                }
                Err(error) => {
                    failures = failures.saturating_add(1);
                    let uri = &*self.uri;
                    if failures == 1 {
                        tracing::warn!(uri, error, "a watched resource cannot be fetched");
                    } else {
                        tracing::debug!(
                            uri,
                            error,
                            failures,
                            "a watched resource cannot be fetched"
                        );
                    }
                }
            }
        }
    }

    async fn ask(&self, states: TakenStates) -> Result<T, String> {
        let limit = self.every.max(FETCH_TIMEOUT);
        let fetching = async {
            let Some(fetching) = catch(|| self.fetch.make(states))? else {
                return Err("its state is missing".to_owned());
            };
            let mut fetching = pin!(fetching);
            let fetched = poll_fn(|task| match catch(|| fetching.as_mut().poll(task)) {
                Ok(Poll::Pending) => Poll::Pending,
                Ok(Poll::Ready(fetched)) => Poll::Ready(Ok(fetched)),
                Err(panic) => Poll::Ready(Err(format!("it panicked: {panic}"))),
            });
            let error = |error: E| Causes(&*error.into()).to_string();
            fetched.await?.map_err(error)
        };
        let fetched = timeout(limit, fetching).await;
        fetched.unwrap_or_else(|_| Err(format!("it took longer than {limit:?}")))
    }
}

/// Returns the time until the next fetch after this many failures.
fn interval(every: Duration, failures: u32) -> Duration {
    let factor = 1_u32 << failures.min(20);
    every
        .saturating_mul(factor)
        .min(MAX_FAILING_INTERVAL.max(every))
}

/// Returns a time that is up to a tenth shorter or longer.
fn jittered(time: Duration) -> Duration {
    let [random] = random::<1>();
    time.mul_f64(0.9 + 0.2 * f64::from(random) / 255.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_lengthen_the_interval_within_bounds() {
        let seconds = |every, failures| interval(Duration::from_secs(every), failures).as_secs();
        assert_eq!(seconds(10, 0), 10);
        assert_eq!(seconds(10, 3), 80);
        assert_eq!(seconds(10, 40), 900);
        assert_eq!(seconds(3_600, 40), 3_600);
        for _ in 0..1_000 {
            let time = jittered(Duration::from_secs(10)).as_millis();
            assert!((9_000..=11_000).contains(&time), "{time}");
        }
    }
}
