//! The options of `#[tool(…)]`.

use darling::FromMeta;
use darling::util::Flag;

use crate::parse::access::{Scopes, Tags};
use crate::parse::guard::GuardOptions;
use crate::parse::value::{Cache, Expression, Icons, Keyed, PathValue, Time, flag, text};

/// The options of `#[tool(…)]`.
#[derive(Default, FromMeta)]
pub(crate) struct ToolOptions {
    /// The name on the wire. Default: the function's name.
    #[darling(with = text)]
    pub(crate) name: Option<syn::LitStr>,
    /// The display name.
    #[darling(with = text)]
    pub(crate) title: Option<syn::LitStr>,
    /// The description, instead of the doc comment.
    pub(crate) description: Option<Expression>,
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
    /// Icons for user interfaces.
    pub(crate) icons: Option<Icons>,
    /// The `_meta` object, as an expression.
    pub(crate) meta: Option<Expression>,
    /// The tags it can be selected with.
    pub(crate) tags: Option<Tags>,
    /// The scopes that a caller must have, all of them.
    pub(crate) scopes: Option<Scopes>,
    /// The function that decides whether a caller can see it.
    pub(crate) visible_if: Option<PathValue>,
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
    pub(crate) guards: GuardOptions,
    /// The path of the runtime crate.
    #[darling(rename = "crate")]
    pub(crate) runtime: Option<PathValue>,
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
