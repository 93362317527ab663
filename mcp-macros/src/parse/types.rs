//! Searches the tokens of a type for nested references and `impl`.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::ToTokens;

/// Finds a reference nested inside a type. Returns its span and the owned type to use instead.
pub(crate) fn find_nested_reference(ty: &syn::Type) -> Option<(Span, String)> {
    find_reference_in_tokens(ty.to_token_stream())
}

fn find_reference_in_tokens(tokens: TokenStream) -> Option<(Span, String)> {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(tree) = tokens.next() {
        match tree {
            TokenTree::Punct(and) if and.as_char() == '&' => {
                let mut lifetime = None;
                if tokens
                    .next_if(
                        |tree| matches!(tree, TokenTree::Punct(quote) if quote.as_char() == '\''),
                    )
                    .is_some()
                {
                    lifetime = tokens.next();
                }
                // `'static` references are allowed, because shared state may contain them and they outlive the call.
                if matches!(lifetime, Some(TokenTree::Ident(name)) if name == "static") {
                    continue;
                }
                let referent = match tokens
                    .find(|tree| !matches!(tree, TokenTree::Ident(word) if word == "mut"))
                {
                    Some(TokenTree::Ident(name)) if name == "str" => "String".to_owned(),
                    Some(TokenTree::Ident(name)) if name == "Path" => "PathBuf".to_owned(),
                    Some(TokenTree::Ident(name)) => name.to_string(),
                    Some(TokenTree::Group(items)) => format!("Vec<{}>", items.stream()),
                    _ => "an owned type".to_owned(),
                };
                return Some((and.span(), referent));
            }
            // References in the parameters of a function pointer are allowed.
            TokenTree::Ident(word) if word == "fn" => return None,
            TokenTree::Group(group) => {
                if let Some(found) = find_reference_in_tokens(group.stream()) {
                    return Some(found);
                }
            }
            _ => {}
        }
    }
    None
}

/// Returns the span of the first `impl` keyword in a type.
pub(crate) fn find_impl(ty: &syn::Type) -> Option<Span> {
    find_impl_in_tokens(ty.to_token_stream())
}

fn find_impl_in_tokens(tokens: TokenStream) -> Option<Span> {
    tokens.into_iter().find_map(|tree| match tree {
        TokenTree::Ident(ident) if ident == "impl" => Some(ident.span()),
        TokenTree::Group(group) => find_impl_in_tokens(group.stream()),
        _ => None,
    })
}
