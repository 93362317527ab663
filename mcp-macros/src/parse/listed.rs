//! Options shared by several kinds of handlers.

use darling::FromMeta;

use crate::parse::access::{Scopes, Tags};
use crate::parse::guard::GuardOptions;
use crate::parse::rename::RenameRule;
use crate::parse::value::{Expression, Icons, PathValue, text};

/// Options in `#[prompt(…)]`.
#[derive(Default, FromMeta)]
pub(crate) struct PromptOptions {
    /// The rule that turns the names of parameters into those of arguments.
    pub(crate) rename_all: Option<RenameRule>,
    #[darling(flatten)]
    pub(crate) listed: ListedOptions,
}

/// Options accepted by every handler attribute.
#[derive(Default, FromMeta)]
pub(crate) struct CommonOptions {
    #[darling(flatten)]
    pub(crate) guards: GuardOptions,
    /// The path to the runtime crate.
    #[darling(rename = "crate")]
    pub(crate) runtime: Option<PathValue>,
}

/// Options for the handlers that clients can list: tools, prompts, resources and resource templates.
#[derive(Default, FromMeta)]
pub(crate) struct ListedOptions {
    /// The name on the wire. Defaults to the function's name.
    #[darling(with = text)]
    pub(crate) name: Option<syn::LitStr>,
    /// The display name.
    #[darling(with = text)]
    pub(crate) title: Option<syn::LitStr>,
    /// A description that replaces the doc comment.
    pub(crate) description: Option<Expression>,
    /// The icons to show in user interfaces.
    pub(crate) icons: Option<Icons>,
    /// An expression for the `_meta` object.
    pub(crate) meta: Option<Expression>,
    /// The tags by which the handler can be selected.
    pub(crate) tags: Option<Tags>,
    /// The scopes that a caller must have. All listed scopes are required.
    pub(crate) scopes: Option<Scopes>,
    /// The function that decides whether the handler is visible to a caller.
    pub(crate) visible_if: Option<PathValue>,
    #[darling(flatten)]
    pub(crate) common: CommonOptions,
}
