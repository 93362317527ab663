//! The options of `#[resource("uri", …)]` and `#[resource_template("uri", …)]`.

use darling::FromMeta;
use darling::util::Flag;

use crate::parse::access::Scopes;
use crate::parse::guard::GuardOptions;
use crate::parse::value::{Cache, Expression, Icons, Keyed, PathValue, Time, text};

/// What stands after the address in the parentheses of `#[resource(…)]` and `#[resource_template(…)]`.
#[derive(Default, FromMeta)]
pub(crate) struct ResourceOptions {
    /// The name on the wire, if not that of the function.
    #[darling(with = text)]
    pub(crate) name: Option<syn::LitStr>,
    /// A name for people.
    #[darling(with = text)]
    pub(crate) title: Option<syn::LitStr>,
    /// What it holds, if not the doc comment.
    pub(crate) description: Option<Expression>,
    /// The media type of its contents.
    #[darling(with = text)]
    pub(crate) mime_type: Option<syn::LitStr>,
    /// Pictures for user interfaces.
    pub(crate) icons: Option<Icons>,
    /// How many bytes it has.
    pub(crate) size: Option<Keyed<u64>>,
    /// Whom it is meant for.
    pub(crate) audience: Option<Audience>,
    /// How much it matters, from 0.0 to 1.0.
    pub(crate) priority: Option<Expression>,
    /// When it last changed, an ISO 8601 time.
    #[darling(with = text)]
    pub(crate) last_modified: Option<syn::LitStr>,
    /// The `_meta` object, as an expression.
    pub(crate) meta: Option<Expression>,
    /// The group it can be selected by.
    #[darling(with = text)]
    pub(crate) group: Option<syn::LitStr>,
    /// What a caller must be granted.
    pub(crate) scopes: Option<Scopes>,
    /// The function that says whether it is there for a caller.
    pub(crate) visible_if: Option<PathValue>,
    /// How long a client may reuse the contents.
    pub(crate) ttl: Option<Time>,
    /// Who may share the contents.
    pub(crate) cache: Option<Cache>,
    /// The function that lists the resources of a template.
    pub(crate) list: Option<Keyed<PathValue>>,
    #[darling(flatten)]
    pub(crate) guards: GuardOptions,
    /// The path of the runtime crate.
    #[darling(rename = "crate")]
    pub(crate) runtime: Option<PathValue>,
}

/// What stands in `audience(…)`.
#[derive(Default, FromMeta)]
pub(crate) struct Audience {
    /// The person.
    pub(crate) user: Flag,
    /// The model.
    pub(crate) assistant: Flag,
}
