//! The model of a resource or resource template.

use proc_macro2::TokenStream;

use crate::model::access::Access;
use crate::model::handler::{Common, Options};
use crate::model::{Errors, Kind};
use crate::parse::access::Tags;
use crate::parse::item_options::parse_address_and_options;
use crate::parse::resource::{Audience, ResourceOptions};
use crate::parse::value::{Cache, Expression, Icon, Icons, Time};

/// The URI and the options of a resource or template.
pub(crate) struct Resource {
    pub(crate) uri: syn::LitStr,
    pub(crate) title: Option<syn::LitStr>,
    pub(crate) mime_type: Option<syn::LitStr>,
    pub(crate) icons: Vec<Icon>,
    pub(crate) size: Option<u64>,
    /// Names of variants of `Role`.
    pub(crate) audience: Vec<&'static str>,
    pub(crate) priority: Option<f64>,
    pub(crate) last_modified: Option<syn::LitStr>,
    pub(crate) meta: Option<syn::Expr>,
    pub(crate) tags: Vec<syn::LitStr>,
    pub(crate) ttl: Option<Time>,
    pub(crate) cache: Option<Cache>,
    pub(crate) list: Option<syn::Path>,
}

impl Resource {
    pub(crate) fn from_tokens(
        kind: Kind,
        tokens: TokenStream,
        errors: &mut Errors,
    ) -> Option<(Common, Options)> {
        let example = match kind {
            Kind::ResourceTemplate => "notes:///{id}",
            _ => "config://app",
        };
        let (uri, options) = errors.take(parse_address_and_options::<ResourceOptions>(
            tokens,
            kind.attribute(),
            example,
        ))?;
        check_kind(kind, &options, errors);
        let priority = options
            .priority
            .and_then(|Expression(priority)| errors.take(parse_priority(&priority)));
        let common = Common {
            name: options.name,
            description: options.description,
            guards: options.guards,
            runtime: options.runtime,
            access: Access::new(options.scopes, options.visible_if, errors),
        };
        let resource = Self {
            uri,
            title: options.title,
            mime_type: options.mime_type,
            icons: options.icons.map(|Icons(icons)| icons).unwrap_or_default(),
            size: options.size.map(|size| size.value),
            audience: options
                .audience
                .map(|audience| roles(&audience))
                .unwrap_or_default(),
            priority,
            last_modified: options.last_modified,
            meta: options.meta.map(|Expression(meta)| meta),
            tags: options.tags.map(|Tags(tags)| tags).unwrap_or_default(),
            ttl: options.ttl,
            cache: options.cache,
            list: options.list.map(|list| list.value.0),
        };
        Some((common, Options::Resource(Box::new(resource))))
    }
}

/// Checks that a template has no `size`, and that only a template has `list`.
fn check_kind(kind: Kind, options: &ResourceOptions, errors: &mut Errors) {
    match (kind, &options.size, &options.list) {
        (Kind::ResourceTemplate, Some(size), _) => errors.push(syn::Error::new(
            size.key,
            "a resource template has no `size`; set it on the resources that `list` returns",
        )),
        (Kind::Resource, _, Some(list)) => errors.push(syn::Error::new(
            list.key,
            "`list` is for a `resource_template`, because a resource is listed as it is; remove it",
        )),
        _ => {}
    }
}

fn parse_priority(expression: &syn::Expr) -> syn::Result<f64> {
    let value = match expression {
        syn::Expr::Lit(syn::ExprLit {
            lit: syn::Lit::Float(value),
            ..
        }) => value.base10_parse().ok(),
        syn::Expr::Lit(syn::ExprLit {
            lit: syn::Lit::Int(value),
            ..
        }) => value.base10_parse().ok(),
        _ => None,
    };
    value
        .filter(|value| (0.0..=1.0).contains(value))
        .ok_or_else(|| {
            syn::Error::new_spanned(
                expression,
                "`priority` must be a number from 0.0 (optional) to 1.0 (required)",
            )
        })
}

fn roles(audience: &Audience) -> Vec<&'static str> {
    [(audience.user, "User"), (audience.assistant, "Assistant")]
        .into_iter()
        .filter_map(|(flag, variant)| flag.is_present().then_some(variant))
        .collect()
}
