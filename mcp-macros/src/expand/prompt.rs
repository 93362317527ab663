//! The options of a prompt.

use proc_macro2::TokenStream;
use quote::quote;

use crate::expand::value::{Fields, icons, meta};
use crate::model::prompt::Prompt;

/// Returns `Options`: the common fields, then the prompt's own.
pub(crate) fn options(prompt: &Prompt, mut fields: Fields) -> TokenStream {
    fields.set_some("title", prompt.title.as_ref().map(|title| quote!(#title)));
    let tags = &prompt.tags;
    if !tags.is_empty() {
        fields.set("tags", &quote!(&[#(#tags),*]));
    }
    fields.set_some("icons", icons(&prompt.icons));
    fields.set_some("meta", prompt.meta.as_ref().map(meta));
    fields.finish(&quote!(__mcp::Options))
}
