//! Reads the options in the parentheses of an attribute.

use darling::FromMeta;
use darling::ast::NestedMeta;
use proc_macro2::TokenStream;
use syn::spanned::Spanned;

use crate::parse::reword::reworded;

/// Reads a list of options.
pub(crate) fn parse_options<T: FromMeta>(tokens: TokenStream) -> syn::Result<T> {
    let options = NestedMeta::parse_meta_list(tokens)?;
    T::from_list(&options).map_err(reworded)
}

/// Reads a leading URI, then a list of options.
pub(crate) fn parse_address_and_options<T: FromMeta>(
    tokens: TokenStream,
    attribute: &str,
    example: &str,
) -> syn::Result<(syn::LitStr, T)> {
    let missing =
        format!("`{attribute}` needs a URI as its first argument: `#[{attribute}(\"{example}\")]`");
    let options = NestedMeta::parse_meta_list(tokens)?;
    match options.split_first() {
        Some((NestedMeta::Lit(syn::Lit::Str(address)), options)) => {
            let options = T::from_list(options).map_err(reworded)?;
            Ok((address.clone(), options))
        }
        Some((other, _)) => Err(syn::Error::new(other.span(), missing)),
        None => Err(syn::Error::new(proc_macro2::Span::call_site(), missing)),
    }
}
