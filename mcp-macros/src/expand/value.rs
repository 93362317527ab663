//! Converts option values to expressions.

use darling::util::Flag;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;

use crate::parse::doc_comment::Description;
use crate::parse::guard::ByteSize;
use crate::parse::value::{CacheScopeValue, DurationValue, Expression, Icons, Keyed, Theme};

impl<T: ToTokens> ToTokens for Keyed<T> {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.value.to_tokens(tokens);
    }
}

impl ToTokens for Expression {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.0.to_tokens(tokens);
    }
}

/// Expands to an expression of type `&'static str`.
impl ToTokens for Description {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Self::Option(value) => value.to_tokens(tokens),
            Self::Text(text) => text.to_tokens(tokens),
            Self::Parts(parts) => tokens.extend(quote!(::core::concat!(#(#parts),*))),
        }
    }
}

/// Expands to an expression of type `Duration`.
impl ToTokens for DurationValue {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Self::Milliseconds(milliseconds) => {
                tokens.extend(quote!(::core::time::Duration::from_millis(#milliseconds)));
            }
            Self::Expression(expression) => {
                tokens.extend(with_type(
                    expression,
                    |at| quote_spanned!(at=> ::core::time::Duration),
                ));
            }
        }
    }
}

/// Returns a block that evaluates to the user's expression. If the expression has the wrong type, the compiler reports
/// the error at the expression rather than at the `Some` around it.
fn with_type(expression: &syn::Expr, expected: impl FnOnce(Span) -> TokenStream) -> TokenStream {
    let at = expression.span();
    let expected = expected(at);
    quote_spanned! {at=> { let value: #expected = #expression; value } }
}

/// Expands to an expression of type `usize`.
impl ToTokens for ByteSize {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Self::Bytes(bytes) => bytes.to_tokens(tokens),
            Self::Expression(expression) => {
                tokens.extend(with_type(expression, |at| quote_spanned!(at=> usize)));
            }
        }
    }
}

/// Expands to a variant of `CacheScope`.
impl ToTokens for CacheScopeValue {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        tokens.extend(match self {
            Self::Public => quote!(__mcp::CacheScope::Public),
            Self::Private => quote!(__mcp::CacheScope::Private),
        });
    }
}

/// Expands to a closure that creates the icons.
impl ToTokens for Icons {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let icons = self.0.iter().map(|icon| {
            let (src, options) = (&icon.src, &icon.options);
            let mime_type = options
                .mime_type
                .as_ref()
                .map(|mime_type| quote!(.with_mime_type(#mime_type)));
            let sizes = options
                .sizes
                .iter()
                .flat_map(|sizes| {
                    let span = sizes.span();
                    sizes
                        .value()
                        .split_whitespace()
                        .map(|size| syn::LitStr::new(size, span))
                        .collect::<Vec<_>>()
                })
                .map(|size| quote!(.with_size(#size)));
            let theme = options.theme.map(|theme| match theme {
                Theme::Light => quote!(.with_theme(__mcp::IconTheme::Light)),
                Theme::Dark => quote!(.with_theme(__mcp::IconTheme::Dark)),
            });
            quote!(__mcp::Icon::new(#src) #mime_type #(#sizes)* #theme)
        });
        tokens.extend(quote!(|| ::std::vec![#(#icons),*]));
    }
}

/// The fields of a struct expression that differ from the type's `NONE` constant.
#[derive(Default)]
pub(crate) struct Fields(TokenStream);

impl Fields {
    /// Adds `name: value`, if there is a value.
    pub(crate) fn set(&mut self, name: &str, value: Option<impl ToTokens>) {
        if let Some(value) = value {
            let name = Ident::new(name, Span::call_site());
            self.0.extend(quote!(#name: #value,));
        }
    }

    /// Adds `name: Some(value)`, if there is a value.
    pub(crate) fn set_some(&mut self, name: &str, value: Option<impl ToTokens>) {
        self.set(
            name,
            value.map(|value| quote!(::core::option::Option::Some(#value))),
        );
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the struct expression of type `ty`.
    pub(crate) fn into_expression(self, ty: &TokenStream) -> TokenStream {
        let fields = self.0;
        if fields.is_empty() {
            quote!(#ty::NONE)
        } else {
            quote!(#ty { #fields ..#ty::NONE })
        }
    }
}

/// Returns a slice with the variants of the enum `of` whose flags are set.
pub(crate) fn flagged_variants(of: &TokenStream, names: &[(Flag, &str)]) -> TokenStream {
    let names = names
        .iter()
        .filter(|(flag, _)| flag.is_present())
        .map(|(_, name)| Ident::new(name, Span::call_site()));
    quote!(&[#(#of::#names),*])
}
