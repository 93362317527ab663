//! The model of a prompt.

use proc_macro2::TokenStream;

use crate::model::Errors;
use crate::model::access::Access;
use crate::model::handler::{Common, Options};
use crate::parse::access::Tags;
use crate::parse::item_options::parse_options;
use crate::parse::prompt::PromptOptions;
use crate::parse::value::{Expression, Icon, Icons};

/// The options of a prompt.
pub(crate) struct Prompt {
    pub(crate) title: Option<syn::LitStr>,
    pub(crate) icons: Vec<Icon>,
    pub(crate) meta: Option<syn::Expr>,
    pub(crate) tags: Vec<syn::LitStr>,
}

impl Prompt {
    pub(crate) fn from_tokens(
        tokens: TokenStream,
        errors: &mut Errors,
    ) -> Option<(Common, Options)> {
        let options: PromptOptions = errors.take(parse_options(tokens))?;
        let common = Common {
            name: options.name,
            description: options.description,
            guards: options.guards,
            runtime: options.runtime,
            access: Access::new(options.scopes, options.visible_if, errors),
        };
        let prompt = Self {
            title: options.title,
            icons: options.icons.map(|Icons(icons)| icons).unwrap_or_default(),
            meta: options.meta.map(|Expression(meta)| meta),
            tags: options.tags.map(|Tags(tags)| tags).unwrap_or_default(),
        };
        Some((common, Options::Prompt(prompt)))
    }
}
