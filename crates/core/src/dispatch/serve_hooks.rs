//! What the author wants to happen when the server begins to serve, and not when a command starts it.

use std::panic::Location;
use std::sync::{Arc, Mutex};

use crate::context::{HookFuture, NeededState, ServeHook, States, TakenStates};
use crate::dispatch::dispatcher::Dispatcher;
use crate::error::{Causes, Error, ErrorKind};
use crate::observe::describe_again;
use crate::sync::lock;

/// The functions of `Server::on_serve`, in their order. Each runs once.
#[derive(Default)]
pub struct ServeHooks(Mutex<Vec<AddedHook>>);

struct AddedHook {
    added_at: &'static Location<'static>,
    needs: Vec<NeededState>,
    run: Box<dyn FnOnce(TakenStates) -> Option<HookFuture> + Send>,
}

impl ServeHooks {
    pub fn add<P, H: ServeHook<P>>(&mut self, hook: H, added_at: &'static Location<'static>) {
        lock(&self.0).push(AddedHook {
            added_at,
            needs: H::needs(),
            run: Box::new(move |states| hook.run(states)),
        });
    }

    /// Describes the values that functions take and that the server does not have.
    #[must_use]
    pub fn faults(&self, states: &States) -> Vec<String> {
        let hooks = lock(&self.0);
        let faults = hooks.iter().flat_map(|hook| {
            let missing = states.missing(&hook.needs).into_iter();
            missing.map(|name| {
                format!(
                    "{} takes the state of type `{name}`, which the server does not have; add `.state(…)` or `.state_with(…)`",
                    hook.subject()
                )
            })
        });
        faults.collect()
    }

    fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }

    fn take(&self) -> Vec<AddedHook> {
        std::mem::take(&mut lock(&self.0))
    }
}

impl AddedHook {
    fn subject(&self) -> String {
        let at = self.added_at;
        format!("the function of `on_serve` at {}:{}", at.file(), at.line())
    }

    async fn run(self, states: &States) -> Result<(), Error> {
        let taken = states.take(&self.needs).await?;
        let subject = self.subject();
        let Some(running) = (self.run)(taken) else {
            return Ok(());
        };
        running.await.map_err(|cause| {
            let message = format!("{subject} failed: {}", Causes(&*cause));
            Error::new(ErrorKind::Serve, message).with_source(cause)
        })
    }
}

impl Dispatcher {
    /// Creates all state values that do not exist yet, then runs the functions of `on_serve`.
    ///
    /// # Errors
    ///
    /// Fails if a value cannot be created or a function fails. Then the server must not serve.
    pub async fn prepare_to_serve(&self) -> Result<(), Error> {
        self.make_states().await?;
        self.run_serve_hooks().await
    }

    async fn run_serve_hooks(&self) -> Result<(), Error> {
        let hooks = self.settings.on_serve.take();
        if hooks.is_empty() {
            return Ok(());
        }
        for hook in hooks {
            hook.run(&self.settings.states).await?;
        }
        // One of them may have installed what the metrics are described to.
        self.settings.observers.start();
        describe_again();
        Ok(())
    }

    /// Runs the functions of `on_serve` with the first request, for a server that is part of another program. If one of
    /// them fails, the server stops.
    pub fn run_serve_hooks_with_first_request(self: &Arc<Self>) {
        if self.settings.on_serve.is_empty() {
            return;
        }
        let server = Arc::downgrade(self);
        self.handle().spawn(async move {
            let Some(server) = server.upgrade() else {
                return;
            };
            if let Err(error) = server.run_serve_hooks().await {
                tracing::error!(%error, "the server stops");
                server.shared.shutdown().cancel();
            }
        });
    }
}
