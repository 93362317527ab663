//! The options of `#[completer(…)]`.

use darling::FromMeta;

use crate::parse::guard::GuardOptions;
use crate::parse::value::{Keyed, PathValue, text};

/// What stands in the parentheses of `#[completer(…)]`.
#[derive(Default, FromMeta)]
pub(crate) struct CompleterOptions {
    /// The prompt it completes an argument of.
    pub(crate) prompt: Option<Keyed<PathValue>>,
    /// The template it completes a variable of.
    pub(crate) template: Option<Keyed<PathValue>>,
    /// Which argument or variable.
    #[darling(with = text)]
    pub(crate) argument: Option<syn::LitStr>,
    #[darling(flatten)]
    pub(crate) guards: GuardOptions,
    /// The path of the runtime crate.
    #[darling(rename = "crate")]
    pub(crate) runtime: Option<PathValue>,
}
