//! Names as seen by clients.

use proc_macro2::Span;
use syn::ext::IdentExt;

/// A name that appears on the wire.
pub(crate) struct Name {
    pub(crate) value: String,
    /// The span of the literal or identifier.
    pub(crate) span: Span,
}

impl Name {
    /// Creates a name from the option's value if there is one, and from the identifier otherwise.
    pub(crate) fn new(option: Option<&syn::LitStr>, ident: &syn::Ident) -> Self {
        match option {
            Some(name) => Self {
                value: name.value(),
                span: name.span(),
            },
            None => Self {
                value: ident.unraw().to_string(),
                span: ident.span(),
            },
        }
    }
}
