//! Values of options as expressions.

use proc_macro2::TokenStream;
use quote::quote;

use crate::expand::tokens::{assert_verdict, option};
use crate::parse::value::{Cache, Icon, Theme, Time};

/// Returns an expression of type `Duration`.
pub(crate) fn duration(time: &Time) -> TokenStream {
    match time {
        Time::Milliseconds(milliseconds) => {
            quote!(::core::time::Duration::from_millis(#milliseconds))
        }
        Time::Expression(expression) => quote!(#expression),
    }
}

/// Returns a variant of `CacheScope`.
pub(crate) fn cache_scope(cache: Cache) -> TokenStream {
    match cache {
        Cache::Public => quote!(__mcp::CacheScope::Public),
        Cache::Private => quote!(__mcp::CacheScope::Private),
    }
}

/// Returns a closure that creates the icons; `None` if there are none.
pub(crate) fn icons(icons: &[Icon]) -> Option<TokenStream> {
    if icons.is_empty() {
        return None;
    }
    let icons = icons.iter().map(|icon| {
        let Icon { src, options } = icon;
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
    Some(quote!(|| ::std::vec![#(#icons),*]))
}

/// Returns checks that clients may display these icons.
pub(crate) fn icon_checks(icons: &[Icon]) -> TokenStream {
    let check =
        |Icon { src, .. }: &Icon| assert_verdict(src.span(), &quote!(__mcp::rules::icon(#src)));
    icons.iter().map(check).collect()
}

/// Returns a closure that creates the `_meta` object.
pub(crate) fn meta(expression: &syn::Expr) -> TokenStream {
    quote!(|| #expression)
}

/// The fields of a value that differ from its `NONE`.
#[derive(Default)]
pub(crate) struct Fields(TokenStream);

impl Fields {
    /// Adds `name: value`.
    pub(crate) fn set(&mut self, name: &str, value: &TokenStream) {
        let name = syn::Ident::new(name, proc_macro2::Span::call_site());
        self.0.extend(quote!(#name: #value,));
    }

    /// Adds `name: Some(value)`, if there is a value.
    pub(crate) fn set_some(&mut self, name: &str, value: Option<TokenStream>) {
        if value.is_some() {
            self.set(name, &option(value));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the whole value, of this type.
    pub(crate) fn finish(self, ty: &TokenStream) -> TokenStream {
        let fields = self.0;
        if fields.is_empty() {
            quote!(#ty::NONE)
        } else {
            quote!(#ty { #fields ..#ty::NONE })
        }
    }
}
