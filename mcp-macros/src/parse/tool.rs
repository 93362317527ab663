//! Options in `#[tool(…)]`.

use darling::FromMeta;
use darling::util::Flag;
use proc_macro2::Span;
use syn::spanned::Spanned;

use crate::parse::app::{Visibility, parse_visibility};
use crate::parse::choice::parse_word;
use crate::parse::listed::ListedOptions;
use crate::parse::rename::RenameRule;
use crate::parse::task::TaskOptions;
use crate::parse::value::{
    CacheScopeValue, DurationValue, Expression, Keyed, PathValue, flag, text,
};

/// Options in `#[tool(…)]`.
#[derive(Default, FromMeta)]
pub(crate) struct ToolOptions {
    /// The tool does not modify its environment.
    #[darling(with = flag)]
    pub(crate) read_only: Option<Keyed<bool>>,
    /// The tool may delete or overwrite data.
    #[darling(with = flag)]
    pub(crate) destructive: Option<Keyed<bool>>,
    /// Repeating a call with the same arguments has no additional effect.
    #[darling(with = flag)]
    pub(crate) idempotent: Option<Keyed<bool>>,
    /// The arguments that identify a call, so that a repeated call is not run.
    pub(crate) idempotent_by: Option<IdentifyingArguments>,
    /// The tool interacts with systems outside the server.
    #[darling(with = flag)]
    pub(crate) open_world: Option<Keyed<bool>>,
    /// The tool blocks the thread that it runs on.
    #[darling(with = flag)]
    pub(crate) blocking: Option<Keyed<bool>>,
    /// The client features that the tool requires.
    pub(crate) requires: Option<RequiredFeatures>,
    /// The rule that turns the names of parameters into those of arguments.
    pub(crate) rename_all: Option<RenameRule>,
    /// Replaces the generated input schema.
    pub(crate) schema: Option<Expression>,
    /// Calls can be run as tasks.
    pub(crate) task: Option<TaskOptions>,
    /// The text that accompanies a structured result.
    pub(crate) text: Option<JsonTextValue>,
    /// Results that are too large are kept and read in parts.
    #[darling(with = flag)]
    pub(crate) spill: Option<Keyed<bool>>,
    /// If `true`, arguments of the wrong type are not coerced.
    pub(crate) strict: Option<bool>,
    /// The duration for which a client may cache a result.
    pub(crate) ttl: Option<DurationValue>,
    /// The scope in which a result may be cached.
    pub(crate) cache: Option<CacheScopeValue>,
    /// The page that displays the results.
    pub(crate) app: Option<PathValue>,
    /// The users of the tool: the model, the page, or both.
    #[darling(with = parse_visibility)]
    pub(crate) visibility: Option<Visibility>,
    #[darling(flatten)]
    pub(crate) listed: ListedOptions,
}

/// The `idempotent_by = "order_id"` option, or several names separated by commas.
pub(crate) struct IdentifyingArguments {
    pub(crate) key: Span,
    /// The names, without surrounding spaces.
    pub(crate) names: Vec<syn::LitStr>,
}

impl FromMeta for IdentifyingArguments {
    fn from_meta(item: &syn::Meta) -> darling::Result<Self> {
        let list = text(item)?;
        let names = list.iter().flat_map(|list| {
            let names = list.value();
            let names = names.split(',');
            let names = names.map(|name| syn::LitStr::new(name.trim(), list.span()));
            names.collect::<Vec<_>>()
        });
        Ok(Self {
            key: item.path().span(),
            names: names.collect(),
        })
    }
}

/// The `text = "…"` option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JsonTextValue {
    /// The JSON itself.
    Compact,
    /// No text, except for clients that support only text.
    None,
    /// A Markdown table.
    Table,
}

impl FromMeta for JsonTextValue {
    fn from_value(value: &syn::Lit) -> darling::Result<Self> {
        let words = [
            ("compact", Self::Compact),
            ("none", Self::None),
            ("table", Self::Table),
        ];
        parse_word("text", value, &words)
    }
}

/// Options in `requires(…)`.
#[derive(Default, FromMeta)]
pub(crate) struct RequiredFeatures {
    /// Sampling from a model.
    pub(crate) sampling: Flag,
    /// Sampling with tools.
    pub(crate) sampling_tools: Flag,
    /// Elicitation with a form.
    pub(crate) elicitation: Flag,
    /// Elicitation with a URL.
    pub(crate) elicitation_url: Flag,
    /// Listing the client's roots.
    pub(crate) roots: Flag,
}
