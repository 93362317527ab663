//! The options of `#[tool(…)]`.

use darling::FromMeta;
use darling::util::Flag;

use crate::parse::access::Scopes;
use crate::parse::guard::GuardOptions;
use crate::parse::value::{Cache, Expression, Icons, Keyed, PathValue, Time, flag, text};

/// What stands in the parentheses of `#[tool(…)]`.
#[derive(Default, FromMeta)]
pub(crate) struct ToolOptions {
    /// The name on the wire, if not that of the function.
    #[darling(with = text)]
    pub(crate) name: Option<syn::LitStr>,
    /// A name for people.
    #[darling(with = text)]
    pub(crate) title: Option<syn::LitStr>,
    /// What it does, if not the doc comment.
    pub(crate) description: Option<Expression>,
    /// It changes nothing.
    #[darling(with = flag)]
    pub(crate) read_only: Option<Keyed<bool>>,
    /// It may delete or overwrite.
    #[darling(with = flag)]
    pub(crate) destructive: Option<Keyed<bool>>,
    /// Calling it again changes nothing more.
    #[darling(with = flag)]
    pub(crate) idempotent: Option<Keyed<bool>>,
    /// It reaches things outside the server.
    #[darling(with = flag)]
    pub(crate) open_world: Option<Keyed<bool>>,
    /// Pictures for user interfaces.
    pub(crate) icons: Option<Icons>,
    /// The `_meta` object, as an expression.
    pub(crate) meta: Option<Expression>,
    /// The group it can be selected by.
    #[darling(with = text)]
    pub(crate) group: Option<syn::LitStr>,
    /// What a caller must be granted.
    pub(crate) scopes: Option<Scopes>,
    /// The function that says whether it is there for a caller.
    pub(crate) visible_if: Option<PathValue>,
    /// It blocks its thread.
    #[darling(with = flag)]
    pub(crate) blocking: Option<Keyed<bool>>,
    /// What a client must be able to do.
    pub(crate) requires: Option<Requires>,
    /// The input schema, if it shall not be generated.
    pub(crate) schema: Option<Expression>,
    /// Arguments are not coerced.
    pub(crate) strict: Option<bool>,
    /// How long a client may reuse an answer.
    pub(crate) ttl: Option<Time>,
    /// Who may share an answer.
    pub(crate) cache: Option<Cache>,
    #[darling(flatten)]
    pub(crate) guards: GuardOptions,
    /// The path of the runtime crate.
    #[darling(rename = "crate")]
    pub(crate) runtime: Option<PathValue>,
}

/// What stands in `requires(…)`.
#[derive(Default, FromMeta)]
pub(crate) struct Requires {
    /// It can sample from a model.
    pub(crate) sampling: Flag,
    /// It can sample with tools.
    pub(crate) sampling_tools: Flag,
    /// It can ask the user with a form.
    pub(crate) elicitation: Flag,
    /// It can send the user to an address.
    pub(crate) elicitation_url: Flag,
    /// It can list its roots.
    pub(crate) roots: Flag,
}
