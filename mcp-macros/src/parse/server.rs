//! The options of `#[server(…)]`, `#[main(…)]`, `#[shown(…)]` and `#[data(…)]`.

use darling::FromMeta;
use darling::util::Flag;

use crate::parse::value::PathValue;

/// The options of `#[server(…)]`.
#[derive(Default, FromMeta)]
pub(crate) struct ServerOptions {
    /// The path of the runtime crate, for all methods that do not specify one.
    #[darling(rename = "crate")]
    pub(crate) runtime: Option<PathValue>,
}

/// The options of `#[main(…)]`.
#[derive(Default, FromMeta)]
pub(crate) struct MainOptions {
    /// The path of the runtime crate.
    #[darling(rename = "crate")]
    pub(crate) runtime: Option<PathValue>,
}

/// The options of `#[shown(…)]`.
#[derive(Default, FromMeta)]
pub(crate) struct ShownOptions {
    /// The path of the runtime crate.
    #[darling(rename = "crate")]
    pub(crate) runtime: Option<PathValue>,
}

/// The options of `#[data(…)]`.
#[derive(Default, FromMeta)]
pub(crate) struct DataOptions {
    /// The type is only received: no `Serialize`.
    pub(crate) input: Flag,
    /// The type is only sent: no `Deserialize`.
    pub(crate) output: Flag,
    /// Unknown fields are ignored.
    pub(crate) allow_unknown_fields: Flag,
    /// The path of the runtime crate.
    #[darling(rename = "crate")]
    pub(crate) runtime: Option<PathValue>,
}
