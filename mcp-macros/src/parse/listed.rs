//! The options that several kinds of handlers share.

use darling::FromMeta;

use crate::parse::access::{Scopes, Tags};
use crate::parse::guard::GuardOptions;
use crate::parse::value::{Expression, Icons, PathValue, text};

/// The options of every attribute on a function.
#[derive(Default, FromMeta)]
pub(crate) struct CommonOptions {
    #[darling(flatten)]
    pub(crate) guards: GuardOptions,
    /// The path of the runtime crate.
    #[darling(rename = "crate")]
    pub(crate) runtime: Option<PathValue>,
}

/// The options of everything that clients list: tools, prompts, resources and resource templates.
#[derive(Default, FromMeta)]
pub(crate) struct ListedOptions {
    /// The name on the wire. Default: the function's name.
    #[darling(with = text)]
    pub(crate) name: Option<syn::LitStr>,
    /// The display name.
    #[darling(with = text)]
    pub(crate) title: Option<syn::LitStr>,
    /// The description, instead of the doc comment.
    pub(crate) description: Option<Expression>,
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
    #[darling(flatten)]
    pub(crate) common: CommonOptions,
}
