//! The model of a tool.

use proc_macro2::{Span, TokenStream};

use crate::model::Errors;
use crate::model::access::Access;
use crate::model::handler::{Common, Options};
use crate::parse::access::Tags;
use crate::parse::item_options::parse_options;
use crate::parse::tool::{Requires, ToolOptions};
use crate::parse::value::{Cache, Expression, Icon, Icons, Keyed, Time};

/// The options of a tool.
pub(crate) struct Tool {
    pub(crate) title: Option<syn::LitStr>,
    pub(crate) read_only: Option<bool>,
    pub(crate) destructive: Option<bool>,
    pub(crate) idempotent: Option<bool>,
    pub(crate) open_world: Option<bool>,
    pub(crate) icons: Vec<Icon>,
    pub(crate) meta: Option<syn::Expr>,
    pub(crate) tags: Vec<syn::LitStr>,
    /// The span of `blocking`, if the tool blocks its thread.
    pub(crate) blocking: Option<Span>,
    /// Names of variants of `ClientFeature`.
    pub(crate) requires: Vec<&'static str>,
    pub(crate) schema: Option<syn::Expr>,
    pub(crate) strict: bool,
    pub(crate) ttl: Option<Time>,
    pub(crate) cache: Option<Cache>,
}

impl Tool {
    pub(crate) fn from_tokens(
        tokens: TokenStream,
        errors: &mut Errors,
    ) -> Option<(Common, Options)> {
        let options: ToolOptions = errors.take(parse_options(tokens))?;
        check_hints(&options, errors);
        let common = Common {
            name: options.name,
            description: options.description,
            guards: options.guards,
            runtime: options.runtime,
            access: Access::new(options.scopes, options.visible_if, errors),
        };
        let value = |flag: Option<Keyed<bool>>| flag.map(|flag| flag.value);
        let tool = Self {
            title: options.title,
            read_only: value(options.read_only),
            destructive: value(options.destructive),
            idempotent: value(options.idempotent),
            open_world: value(options.open_world),
            icons: options.icons.map(|Icons(icons)| icons).unwrap_or_default(),
            meta: options.meta.map(|Expression(meta)| meta),
            tags: options.tags.map(|Tags(tags)| tags).unwrap_or_default(),
            blocking: options
                .blocking
                .and_then(|blocking| blocking.value.then_some(blocking.key)),
            requires: options
                .requires
                .map(|requires| features(&requires))
                .unwrap_or_default(),
            schema: options.schema.map(|Expression(schema)| schema),
            strict: options.strict.unwrap_or(false),
            ttl: options.ttl,
            cache: options.cache,
        };
        Some((common, Options::Tool(Box::new(tool))))
    }
}

/// Checks that a read-only tool is not destructive.
fn check_hints(options: &ToolOptions, errors: &mut Errors) {
    if let (Some(read_only), Some(destructive)) = (&options.read_only, &options.destructive)
        && read_only.value
        && destructive.value
    {
        errors.push(syn::Error::new(
            destructive.key,
            "a tool cannot be both `read_only` and `destructive`",
        ));
    }
}

fn features(requires: &Requires) -> Vec<&'static str> {
    [
        (requires.sampling, "Sampling"),
        (requires.sampling_tools, "SamplingTools"),
        (requires.elicitation, "Elicitation"),
        (requires.elicitation_url, "ElicitationUrl"),
        (requires.roots, "Roots"),
    ]
    .into_iter()
    .filter_map(|(flag, variant)| flag.is_present().then_some(variant))
    .collect()
}
