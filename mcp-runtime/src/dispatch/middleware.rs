//! A server's middleware, and the choice of what is put around a call.

use crate::context::RequestSource;
use crate::dispatch::target::CallTarget;
use crate::handler::middleware::{KeptMembers, Next, UnlinkedMiddleware, chain_around};
use crate::handler::option::{OptionWrapping, ReadMember, WrappingPlace};
use crate::jsonrpc::Member;
use crate::order;
use crate::registry::Callable;

/// A server's middleware and what add-ons put around it.
pub(crate) struct LinkedMiddleware {
    /// The author's middleware, which is around all calls.
    plain: Next,
    /// What add-ons put around the tools with their options, the outermost first.
    wrappings: Vec<OptionWrapping>,
    /// `true` if a request may need one of them whose option its tool does not have.
    are_requested: bool,
    /// The members of requests that they read.
    reads: Vec<Member>,
}

/// What is put around a call.
pub(super) struct CallWrapping<'t> {
    pub(super) around: &'t Next,
    /// The members of the call's request that are read there.
    reads: &'t [Member],
}

impl CallWrapping<'_> {
    /// Returns the members that are read, as `member` returns their raw JSON.
    pub(super) fn kept(&self, member: &ReadMember<'_>) -> KeptMembers {
        let kept = self.reads.iter();
        let kept = kept.filter_map(|read| Some((*read, member(*read)?.into())));
        kept.collect()
    }
}

impl LinkedMiddleware {
    /// Links the author's middleware, given from the outermost to the innermost.
    pub(crate) fn new(around: &[UnlinkedMiddleware], mut wrappings: Vec<OptionWrapping>) -> Self {
        order::sort_by(&mut wrappings, |one, other| one.place.cmp(&other.place));
        Self {
            plain: chain_around(Next::default(), around),
            are_requested: wrappings.iter().any(|it| it.is_requested.is_some()),
            reads: wrappings.iter().filter_map(|it| it.reads).collect(),
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
        let is_wrapped = match target.callable() {
            Some(callable) => callable.is_wrapped(),
            // The tool has to be found first.
            None => matches!(target, CallTarget::Sourced(_)),
        };
        !is_wrapped && self.plain.is_handler() && !self.are_requested
    }

    /// Returns what is put around a run of a call that continues apart from its request.
    pub(super) fn for_runs(&self, callable: &Callable) -> Next {
        chain_around(
            self.plain.clone(),
            self.links(callable, WrappingPlace::Results),
        )
    }

    /// Returns what is put around a call. `member` returns the raw JSON of a member of its request.
    pub(super) fn for_call<'t>(
        &'t self,
        (member, source): (&ReadMember<'_>, &RequestSource),
        target: &'t CallTarget,
    ) -> CallWrapping<'t> {
        match target.called_tool() {
            Some(tool)
                if tool.is_wrapped() || self.are_requested && self.is_requested(member, source) =>
            {
                CallWrapping {
                    around: tool.around.get_or_init(|| self.around(tool)),
                    reads: &self.reads,
                }
            }
            _ => CallWrapping {
                around: &self.plain,
                reads: &[],
            },
        }
    }

    /// Returns the members of a request that say what is put around a call, or that are read there.
    pub(super) fn members(&self) -> impl Iterator<Item = Member> {
        self.reads.iter().copied().chain([Member::Meta])
    }

    /// Returns `true` if a request may need a wrapping whose option its tool does not have.
    fn is_requested(&self, member: &ReadMember<'_>, source: &RequestSource) -> bool {
        self.wrappings
            .iter()
            .filter_map(|wrapping| wrapping.is_requested)
            .any(|is_requested| is_requested(member, source))
    }

    /// Links all that calls of a tool may need. Each link passes on the calls that do not need it.
    fn around(&self, tool: &Callable) -> Next {
        let apart = self.for_runs(tool);
        let request = chain_around(apart, self.links(tool, WrappingPlace::Request));
        chain_around(request, self.links(tool, WrappingPlace::Outermost))
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
