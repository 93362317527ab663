//! A server's middleware, and the choice of the middleware for a call.

use crate::context::RequestSource;
use crate::dispatch::idempotency::{Idempotency, IdempotentCalls};
use crate::dispatch::target::CallTarget;
use crate::handler::middleware::{self, Next, UnlinkedMiddleware};
use crate::jsonrpc::Member;

/// A server's linked middleware, with a separate chain for each kind of call.
pub(crate) struct LinkedMiddleware {
    /// For plain calls.
    plain: Next,
    /// For plain calls to tools that keep large results: the same middleware, wrapped in the step that keeps them.
    spilling: Next,
    /// For calls that can be run as tasks, if any of them can.
    tasks: Option<Next>,
    /// For calls that can have an idempotency key.
    idempotent: IdempotentCalls,
}

impl LinkedMiddleware {
    /// Links middleware, given from the outermost to the innermost. `around_tasks` wraps all other middleware, for
    /// calls that can be run as tasks.
    pub(crate) fn new(
        around: Vec<UnlinkedMiddleware>,
        around_tasks: Vec<UnlinkedMiddleware>,
        idempotency: Idempotency,
    ) -> Self {
        let plain = middleware::chain(around);
        let spilling = plain.clone().keeping_large_results();
        let tasks =
            (!around_tasks.is_empty()).then(|| middleware::chain_around(&spilling, around_tasks));
        let around_tasks = tasks.as_ref().unwrap_or(&spilling);
        let idempotent = IdempotentCalls::new(idempotency, &spilling, around_tasks);
        Self {
            plain,
            spilling,
            tasks,
            idempotent,
        }
    }

    /// Returns `true` if the server has no middleware of its own for plain calls.
    pub(super) fn is_empty(&self) -> bool {
        self.plain.is_handler()
    }

    /// Returns `true` if calls to the target have no middleware, whatever their requests contain.
    #[inline]
    pub(super) fn is_empty_for(&self, target: &CallTarget) -> bool {
        let has_option = match target.callable() {
            Some(callable) => callable.guards.spills || callable.idempotent_by.is_some(),
            // The tool has to be found first.
            None => matches!(target, CallTarget::Sourced(_)),
        };
        !has_option
            && self.plain.is_handler()
            && self.tasks.is_none()
            && !self.idempotent.accepts_keys()
    }

    /// Returns the middleware that wraps plain calls of a handler, which may have the `spill` option.
    #[inline]
    pub(super) fn for_plain_calls(&self, spills: bool) -> &Next {
        if spills { &self.spilling } else { &self.plain }
    }

    /// Returns the middleware for a call, and the member of its request that asks for a task. `member` returns the raw
    /// JSON of a member of its request.
    pub(super) fn for_call<'m>(
        &'m self,
        (member, source): (impl Fn(Member) -> Option<&'m str>, &RequestSource),
        target: &CallTarget,
    ) -> (&'m Next, Option<&'m str>) {
        // Middleware for tasks wraps only calls to tools that support tasks and calls that request a task.
        let (tasks, task) = match &self.tasks {
            None => (None, None),
            Some(tasks) => match member(Member::Task) {
                task if target.can_be_task(task.is_some()) => (Some(tasks), task),
                _ => (None, None),
            },
        };
        let meta = || member(Member::Meta);
        let idempotent = self
            .idempotent
            .around(target, meta, source, tasks.is_some());
        let chosen = idempotent.or(tasks).unwrap_or_else(|| {
            let spills = target.guards().is_some_and(|guards| guards.spills);
            self.for_plain_calls(spills)
        });
        (chosen, task)
    }
}
