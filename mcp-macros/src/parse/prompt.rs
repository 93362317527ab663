//! The options of `#[prompt(…)]`.

use darling::FromMeta;

use crate::parse::access::Scopes;
use crate::parse::guard::GuardOptions;
use crate::parse::value::{Expression, Icons, PathValue, text};

/// What stands in the parentheses of `#[prompt(…)]`.
#[derive(Default, FromMeta)]
pub(crate) struct PromptOptions {
    /// The name on the wire, if not that of the function.
    #[darling(with = text)]
    pub(crate) name: Option<syn::LitStr>,
    /// A name for people.
    #[darling(with = text)]
    pub(crate) title: Option<syn::LitStr>,
    /// What it is for, if not the doc comment.
    pub(crate) description: Option<Expression>,
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
    #[darling(flatten)]
    pub(crate) guards: GuardOptions,
    /// The path of the runtime crate.
    #[darling(rename = "crate")]
    pub(crate) runtime: Option<PathValue>,
}
