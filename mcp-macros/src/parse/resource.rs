//! The options of `#[resource("uri", …)]` and `#[resource_template("uri", …)]`.

use darling::FromMeta;
use darling::util::Flag;

use crate::parse::access::{Scopes, Tags};
use crate::parse::guard::GuardOptions;
use crate::parse::value::{Cache, Expression, Icons, Keyed, PathValue, Time, text};

/// The options after the URI in `#[resource(…)]` and `#[resource_template(…)]`.
#[derive(Default, FromMeta)]
pub(crate) struct ResourceOptions {
    /// The name on the wire. Default: the function's name.
    #[darling(with = text)]
    pub(crate) name: Option<syn::LitStr>,
    /// The display name.
    #[darling(with = text)]
    pub(crate) title: Option<syn::LitStr>,
    /// The description, instead of the doc comment.
    pub(crate) description: Option<Expression>,
    /// The media type of the contents.
    #[darling(with = text)]
    pub(crate) mime_type: Option<syn::LitStr>,
    /// Icons for user interfaces.
    pub(crate) icons: Option<Icons>,
    /// The size in bytes.
    pub(crate) size: Option<Keyed<u64>>,
    /// The intended audience.
    pub(crate) audience: Option<Audience>,
    /// The importance, from 0.0 to 1.0.
    pub(crate) priority: Option<Expression>,
    /// The time of the last change, in ISO 8601.
    #[darling(with = text)]
    pub(crate) last_modified: Option<syn::LitStr>,
    /// The `_meta` object, as an expression.
    pub(crate) meta: Option<Expression>,
    /// The tags it can be selected with.
    pub(crate) tags: Option<Tags>,
    /// The scopes that a caller must have, all of them.
    pub(crate) scopes: Option<Scopes>,
    /// The function that decides whether a caller can see it.
    pub(crate) visible_if: Option<PathValue>,
    /// The time for which a client may cache the contents.
    pub(crate) ttl: Option<Time>,
    /// The scope in which the contents may be cached.
    pub(crate) cache: Option<Cache>,
    /// The function that lists the resources of a template.
    pub(crate) list: Option<Keyed<PathValue>>,
    #[darling(flatten)]
    pub(crate) guards: GuardOptions,
    /// The path of the runtime crate.
    #[darling(rename = "crate")]
    pub(crate) runtime: Option<PathValue>,
}

/// The options of `audience(…)`.
#[derive(Default, FromMeta)]
pub(crate) struct Audience {
    /// The user.
    pub(crate) user: Flag,
    /// The model.
    pub(crate) assistant: Flag,
}
