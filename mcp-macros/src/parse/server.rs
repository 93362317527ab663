//! The options of `#[server(…)]`, `#[main(…)]`, `#[shown(…)]` and `#[data(…)]`.

use darling::FromMeta;
use darling::util::Flag;

use crate::parse::value::PathValue;

/// What stands in the parentheses of `#[server(…)]`.
#[derive(Default, FromMeta)]
pub(crate) struct ServerOptions {
    /// The path of the runtime crate, for all methods that do not name one.
    #[darling(rename = "crate")]
    pub(crate) runtime: Option<PathValue>,
}

/// What stands in the parentheses of `#[main(…)]`.
#[derive(Default, FromMeta)]
pub(crate) struct MainOptions {
    /// The path of the runtime crate.
    #[darling(rename = "crate")]
    pub(crate) runtime: Option<PathValue>,
}

/// What stands in the parentheses of `#[shown(…)]`.
#[derive(Default, FromMeta)]
pub(crate) struct ShownOptions {
    /// The path of the runtime crate.
    #[darling(rename = "crate")]
    pub(crate) runtime: Option<PathValue>,
}

/// What stands in the parentheses of `#[data(…)]`.
#[derive(Default, FromMeta)]
pub(crate) struct DataOptions {
    /// Only ever received: no `Serialize`.
    pub(crate) input: Flag,
    /// Only ever sent: no `Deserialize`.
    pub(crate) output: Flag,
    /// Fields it does not know are ignored.
    pub(crate) allow_unknown_fields: Flag,
    /// The path of the runtime crate.
    #[darling(rename = "crate")]
    pub(crate) runtime: Option<PathValue>,
}
