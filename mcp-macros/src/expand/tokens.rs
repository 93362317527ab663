//! Adapts the user's tokens to their position in the expansion.

use proc_macro2::{Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};

use crate::parse::value::PathValue;

/// Returns a span with the location of the user's code and the hygiene of the macro, so that errors point at the user's
/// code but lints recognize the tokens as generated.
pub(crate) fn macro_span_at(span: Span) -> Span {
    Span::call_site().located_at(span)
}

/// Replaces `Self`, which has no meaning outside the `impl` block, and named lifetimes, which are declared only on the
/// function.
///
/// `lifetime` is the replacement for named lifetimes: `_` where the lifetime can be inferred, `static` elsewhere.
pub(crate) fn replace_self_and_lifetimes(
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
                fitted.extend([TokenTree::Ident(lifetime_name(name, ident.span()))]);
            }
            TokenTree::Ident(ident) if ident == "Self" => match self_type {
                Some(ty) => fitted.extend(quote!(#ty)),
                None => fitted.extend([TokenTree::Ident(ident)]),
            },
            TokenTree::Group(group) => {
                let mut inner = Group::new(
                    group.delimiter(),
                    replace_self_and_lifetimes(group.stream(), self_type, lifetime),
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

fn lifetime_name(name: &str, span: Span) -> syn::Ident {
    // `_` and `static` are not ordinary identifiers, but form valid lifetimes after a quote.
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

/// Returns an anonymous constant that causes a compile error at `span`, with the verdict's message, if the rule is
/// violated.
pub(crate) fn compile_time_check(span: Span, verdict: &TokenStream) -> TokenStream {
    quote_spanned!(macro_span_at(span)=> const _: () = __mcp::rules::check(&#verdict);)
}

/// Returns `Some(tokens)` or `None` with fully qualified paths.
pub(crate) fn option_expression(value: Option<impl ToTokens>) -> TokenStream {
    value.map_or_else(
        || quote!(::core::option::Option::None),
        |value| quote!(::core::option::Option::Some(#value)),
    )
}

/// Returns the path to the runtime crate.
pub(crate) fn runtime_path(path: Option<&PathValue>) -> TokenStream {
    path.map_or_else(
        || quote!(::mcp_runtime),
        |PathValue(path)| path.to_token_stream(),
    )
}
