//! Parses the parameter attribute `#[complete(…)]`.

use syn::spanned::Spanned;

use crate::parse::value::Keyed;

/// The form of the attribute.
const FORM: &str = "`complete` takes the path of a function, or a list of strings: `#[complete(languages)]` or `#[complete([\"rust\", \"go\"])]`";

/// The source of an argument's completion candidates.
pub(crate) enum CandidateSource {
    /// The completer at a path.
    Function(syn::Path),
    /// A fixed list of strings.
    Candidates(Vec<syn::LitStr>),
}

impl syn::parse::Parse for CandidateSource {
    fn parse(input: syn::parse::ParseStream<'_>) -> syn::Result<Self> {
        if !input.peek(syn::token::Bracket) {
            let function = input.parse().map(Self::Function);
            return function.map_err(|error| syn::Error::new(error.span(), FORM));
        }
        let list;
        syn::bracketed!(list in input);
        let text = |input: syn::parse::ParseStream<'_>| {
            let text = input.parse::<syn::LitStr>();
            text.map_err(|error| {
                syn::Error::new(
                    error.span(),
                    "a candidate must be a string in quotes, such as `\"rust\"`",
                )
            })
        };
        let texts = list.parse_terminated(text, syn::Token![,])?;
        Ok(Self::Candidates(texts.into_iter().collect()))
    }
}

/// Parses `#[complete(…)]`, if it is among the given attributes.
pub(crate) fn parse_complete(
    attributes: &[syn::Attribute],
) -> syn::Result<Option<Keyed<CandidateSource>>> {
    let mut found = None;
    for attribute in attributes {
        if !attribute.path().is_ident("complete") {
            continue;
        }
        if found.is_some() {
            return Err(syn::Error::new_spanned(
                attribute.path(),
                "`complete` is given twice; keep one",
            ));
        }
        if matches!(attribute.meta, syn::Meta::Path(_) | syn::Meta::NameValue(_)) {
            return Err(syn::Error::new_spanned(attribute.path(), FORM));
        }
        let value = attribute.parse_args()?;
        found = Some(Keyed {
            key: attribute.path().span(),
            value,
        });
    }
    Ok(found)
}
