//! Parses the input of `skills!`: a folder and options.

use proc_macro2::{Span, TokenStream};
use syn::parse::{Parse, ParseStream};

use crate::parse::value::PathValue;

/// A folder of skills.
pub(crate) struct SkillFolder {
    /// The path, relative to the directory of `Cargo.toml`.
    pub(crate) path: syn::LitStr,
    /// The path to the runtime crate.
    pub(crate) runtime: Option<PathValue>,
}

const ONLY_A_FOLDER: &str = "`skills!` takes only a folder, and `crate = …`; remove this";

/// Parses the folder and the `crate` option.
pub(crate) fn parse_skills(input: TokenStream) -> syn::Result<SkillFolder> {
    syn::parse2(input)
}

impl Parse for SkillFolder {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let expected = "`skills!` needs a folder next to `Cargo.toml`: `skills!(\"skills/\")`";
        if input.is_empty() {
            return Err(syn::Error::new(Span::call_site(), expected));
        }
        let path = input
            .parse::<syn::LitStr>()
            .map_err(|error| syn::Error::new(error.span(), expected))?;
        let mut runtime = None;
        if input.parse::<Option<syn::Token![,]>>()?.is_some() && !input.is_empty() {
            let key = input.parse::<syn::Token![crate]>();
            key.map_err(|error| syn::Error::new(error.span(), ONLY_A_FOLDER))?;
            input.parse::<syn::Token![=]>()?;
            runtime = Some(PathValue(input.call(syn::Path::parse_mod_style)?));
            input.parse::<Option<syn::Token![,]>>()?;
        }
        if !input.is_empty() {
            return Err(input.error(ONLY_A_FOLDER));
        }
        Ok(Self { path, runtime })
    }
}
