//! The user's tokens, adapted to their position in the expansion.

use proc_macro2::{Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};

use crate::parse::value::PathValue;

/// Returns a span at the user's source with the hygiene of the macro: carets point there, and lints know that the code is
/// generated.
pub(crate) fn at(span: Span) -> Span {
    Span::call_site().located_at(span)
}

/// Replaces `Self`, which means nothing outside the `impl` block, and named lifetimes, which only the function knows.
///
/// `lifetime` replaces the latter: `_` where it can be inferred, `static` where it cannot.
pub(crate) fn outside(
    tokens: impl ToTokens,
    self_type: Option<&syn::Type>,
    lifetime: &str,
) -> TokenStream {
    let mut fitted = TokenStream::new();
    let mut after_quote = false;
    for tree in tokens.into_token_stream() {
        let is_quote = matches!(&tree, TokenTree::Punct(punct) if punct.as_char() == '\'');
        match tree {
            TokenTree::Ident(ident) if after_quote => {
                let name = if ident == "static" {
                    "static"
                } else {
                    lifetime
                };
                fitted.extend([TokenTree::Ident(word(name, ident.span()))]);
            }
            TokenTree::Ident(ident) if ident == "Self" => match self_type {
                Some(ty) => fitted.extend(quote!(#ty)),
                None => fitted.extend([TokenTree::Ident(ident)]),
            },
            TokenTree::Group(group) => {
                let mut inner = Group::new(
                    group.delimiter(),
                    outside(group.stream(), self_type, lifetime),
                );
                inner.set_span(group.span());
                fitted.extend([TokenTree::Group(inner)]);
            }
            other => fitted.extend([other]),
        }
        after_quote = is_quote;
    }
    fitted
}

fn word(name: &str, span: Span) -> syn::Ident {
    // `_` and `static` are not ordinary identifiers, but after a quote they are lifetimes.
    syn::Ident::new(name, span)
}

/// Returns the span of the first token.
pub(crate) fn first_span(tokens: &TokenStream) -> Span {
    tokens
        .clone()
        .into_iter()
        .next()
        .map_or_else(Span::call_site, |tree| tree.span())
}

/// Returns an anonymous constant that fails to compile, at `span`, with the message of a verdict.
pub(crate) fn check(span: Span, verdict: &TokenStream) -> TokenStream {
    quote_spanned!(at(span)=> const _: () = __mcp::rules::check(&#verdict);)
}

/// Returns `Some(tokens)` or `None`, with full paths.
pub(crate) fn option(value: Option<impl ToTokens>) -> TokenStream {
    value.map_or_else(
        || quote!(::core::option::Option::None),
        |value| quote!(::core::option::Option::Some(#value)),
    )
}

/// Returns the path of the runtime crate.
pub(crate) fn runtime(path: Option<&PathValue>) -> TokenStream {
    path.map_or_else(
        || quote!(::mcp_runtime),
        |PathValue(path)| path.to_token_stream(),
    )
}
