//! The options of `#[tool(…)]`.

use darling::FromMeta;
use darling::util::Flag;

use crate::parse::listed::ListedOptions;
use crate::parse::value::{Cache, Expression, Keyed, Time, flag};

/// The options of `#[tool(…)]`.
#[derive(Default, FromMeta)]
pub(crate) struct ToolOptions {
    /// The tool changes nothing.
    #[darling(with = flag)]
    pub(crate) read_only: Option<Keyed<bool>>,
    /// The tool may delete or overwrite data.
    #[darling(with = flag)]
    pub(crate) destructive: Option<Keyed<bool>>,
    /// Repeated calls have no further effect.
    #[darling(with = flag)]
    pub(crate) idempotent: Option<Keyed<bool>>,
    /// The tool interacts with the world outside the server.
    #[darling(with = flag)]
    pub(crate) open_world: Option<Keyed<bool>>,
    /// The tool blocks its thread.
    #[darling(with = flag)]
    pub(crate) blocking: Option<Keyed<bool>>,
    /// The features that the client must support.
    pub(crate) requires: Option<Requires>,
    /// The input schema, instead of the generated one.
    pub(crate) schema: Option<Expression>,
    /// Arguments are not coerced.
    pub(crate) strict: Option<bool>,
    /// The time for which a client may cache a result.
    pub(crate) ttl: Option<Time>,
    /// The scope in which a result may be cached.
    pub(crate) cache: Option<Cache>,
    #[darling(flatten)]
    pub(crate) listed: ListedOptions,
}

/// The options of `requires(…)`.
#[derive(Default, FromMeta)]
pub(crate) struct Requires {
    /// Sampling from a model.
    pub(crate) sampling: Flag,
    /// Sampling with tools.
    pub(crate) sampling_tools: Flag,
    /// Elicitation with a form.
    pub(crate) elicitation: Flag,
    /// Elicitation with a URL.
    pub(crate) elicitation_url: Flag,
    /// Listing its roots.
    pub(crate) roots: Flag,
}
