//! Options in `#[resource("uri", …)]` and `#[resource_template("uri", …)]`.

use darling::util::Flag;
use darling::{Error, FromMeta, Result};
use syn::punctuated::Punctuated;

use crate::parse::listed::ListedOptions;
use crate::parse::literal::find_literal;
use crate::parse::value::{CacheScopeValue, DurationValue, Expression, Keyed, PathValue, text};

/// Options that follow the URI in `#[resource(…)]` and `#[resource_template(…)]`.
#[derive(Default, FromMeta)]
pub(crate) struct ResourceOptions {
    /// The media type of the resource's contents.
    #[darling(with = text)]
    pub(crate) mime_type: Option<syn::LitStr>,
    /// The size of the contents in bytes.
    pub(crate) size: Option<Keyed<u64>>,
    /// The intended audience.
    pub(crate) audience: Option<Audience>,
    /// The importance of the resource.
    pub(crate) priority: Option<Priority>,
    /// The time of the last change, in ISO 8601 format.
    #[darling(with = text)]
    pub(crate) last_modified: Option<syn::LitStr>,
    /// The duration for which a client may cache the contents.
    pub(crate) ttl: Option<DurationValue>,
    /// The scope in which the contents may be cached.
    pub(crate) cache: Option<CacheScopeValue>,
    /// The function that lists a template's resources.
    pub(crate) list: Option<Keyed<PathValue>>,
    #[darling(flatten)]
    pub(crate) listed: ListedOptions,
}

/// The value of `audience(…)`.
pub(crate) struct Audience {
    /// The contents are meant for the user.
    pub(crate) user: Flag,
    /// The contents are meant for the model.
    pub(crate) assistant: Flag,
}

impl FromMeta for Audience {
    fn from_meta(item: &syn::Meta) -> Result<Self> {
        /// Options in `audience(…)`.
        #[derive(Default, FromMeta)]
        struct AudienceOptions {
            user: Flag,
            assistant: Flag,
        }

        let AudienceOptions { user, assistant } =
            AudienceOptions::from_meta(item).map_err(|error| match item {
                // The error names the closest word.
                syn::Meta::List(list) if holds_only_words(list) => error,
                _ => Error::custom(
                    "write `audience(user)`, `audience(assistant)` or `audience(user, assistant)`",
                )
                .with_span(item),
            })?;
        Ok(Self { user, assistant })
    }
}

fn holds_only_words(list: &syn::MetaList) -> bool {
    let words = Punctuated::<syn::Path, syn::Token![,]>::parse_terminated;
    list.parse_args_with(words).is_ok()
}

/// A number from 0.0 to 1.0.
pub(crate) struct Priority(pub(crate) f64);

impl FromMeta for Priority {
    fn from_meta(item: &syn::Meta) -> Result<Self> {
        let Expression(expression) = Expression::from_meta(item)?;
        let value = match find_literal(&expression) {
            Some(syn::Lit::Float(value)) => value.base10_parse().ok(),
            Some(syn::Lit::Int(value)) => value.base10_parse().ok(),
            _ => None,
        };
        value
            .filter(|value| (0.0..=1.0).contains(value))
            .map(Self)
            .ok_or_else(|| {
                Error::custom("`priority` must be a number from 0.0 (optional) to 1.0 (required)")
                    .with_span(&expression)
            })
    }
}
