//! Options in `#[completer(…)]`.

use darling::FromMeta;

use crate::parse::listed::CommonOptions;
use crate::parse::value::{Keyed, PathValue, text};

/// Options in `#[completer(…)]`.
#[derive(Default, FromMeta)]
pub(crate) struct CompleterOptions {
    /// The prompt whose argument is completed.
    pub(crate) prompt: Option<Keyed<PathValue>>,
    /// The resource template whose variable is completed.
    pub(crate) template: Option<Keyed<PathValue>>,
    /// The name of the argument or variable.
    #[darling(with = text)]
    pub(crate) argument: Option<syn::LitStr>,
    #[darling(flatten)]
    pub(crate) common: CommonOptions,
}
