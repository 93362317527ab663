//! A server's middleware, and the choice of what is put around a call.

use crate::context::RequestSource;
use crate::dispatch::target::CallTarget;
use crate::handler::middleware::{Next, UnlinkedMiddleware, chain_around};
use crate::handler::option::{OptionWrapping, WrappingPlace};
use crate::jsonrpc::Member;
use crate::registry::Callable;

/// A server's middleware and what add-ons put around it.
pub(crate) struct LinkedMiddleware {
    /// The author's middleware, which is around all calls.
    plain: Next,
    /// Middleware around calls that can be run as tasks.
    around_tasks: Vec<UnlinkedMiddleware>,
    /// What add-ons put around the tools with their options, the outermost first.
    wrappings: Vec<OptionWrapping>,
    /// `true` if a request may need one of them whose option its tool does not have.
    are_requested: bool,
}

impl LinkedMiddleware {
    /// Links the author's middleware, given from the outermost to the innermost.
    pub(crate) fn new(
        around: &[UnlinkedMiddleware],
        around_tasks: Vec<UnlinkedMiddleware>,
        mut wrappings: Vec<OptionWrapping>,
    ) -> Self {
        wrappings.sort_by_key(|wrapping| wrapping.place);
        Self {
            plain: chain_around(Next::default(), around),
            around_tasks,
            are_requested: wrappings.iter().any(|it| it.is_requested.is_some()),
            wrappings,
        }
    }

    /// Returns `true` if the server has no middleware of its own for plain calls.
    pub(super) fn is_empty(&self) -> bool {
        self.plain.is_handler()
    }

    /// Returns `true` if nothing is put around calls to the target, whatever their requests contain.
    #[inline]
    pub(super) fn is_empty_for(&self, target: &CallTarget) -> bool {
        let has_options = match target.callable() {
            Some(callable) => !callable.options.is_empty(),
            // The tool has to be found first.
            None => matches!(target, CallTarget::Sourced(_)),
        };
        !has_options
            && self.plain.is_handler()
            && self.around_tasks.is_empty()
            && !self.are_requested
    }

    /// Returns what is put around a run of a call that continues apart from its request.
    pub(super) fn for_runs(&self, callable: &Callable) -> Next {
        chain_around(
            self.plain.clone(),
            self.links(callable, WrappingPlace::Results),
        )
    }

    /// Returns what is put around a call, and the member of its request that asks for a task. `member` returns the raw
    /// JSON of a member of its request.
    pub(super) fn for_call<'m>(
        &'m self,
        (member, source): (impl Fn(Member) -> Option<&'m str>, &RequestSource),
        target: &'m CallTarget,
    ) -> (&'m Next, Option<&'m str>) {
        // Middleware for tasks wraps only calls to tools that support tasks and calls that request a task.
        let task = if self.around_tasks.is_empty() {
            None
        } else {
            Some(member(Member::Task)).filter(|task| target.can_be_task(task.is_some()))
        };
        let requested = task.flatten();
        match target.called_tool() {
            Some(tool)
                if task.is_some()
                    || !tool.options.is_empty()
                    || self.are_requested && self.is_requested(member(Member::Meta), source) =>
            {
                (tool.around.get_or_init(|| self.around(tool)), requested)
            }
            _ => (&self.plain, requested),
        }
    }

    /// Returns `true` if a request may need a wrapping whose option its tool does not have.
    fn is_requested(&self, meta: Option<&str>, source: &RequestSource) -> bool {
        self.wrappings
            .iter()
            .filter_map(|wrapping| wrapping.is_requested)
            .any(|is_requested| is_requested(meta, source))
    }

    /// Links all that calls of a tool may need. Each link passes on the calls that do not need it.
    fn around(&self, tool: &Callable) -> Next {
        let tasks = chain_around(self.for_runs(tool), &self.around_tasks);
        chain_around(tasks, self.links(tool, WrappingPlace::Outermost))
    }

    /// Returns the links of the wrappings in one place, the outermost first.
    fn links(
        &self,
        tool: &Callable,
        place: WrappingPlace,
    ) -> impl DoubleEndedIterator<Item = &UnlinkedMiddleware> {
        let wrappings = self.wrappings.iter();
        wrappings
            .filter(move |it| it.place == place)
            .filter(|it| it.is_requested.is_some() || tool.has_option(it.option))
            .map(|it| &it.link)
    }
}
