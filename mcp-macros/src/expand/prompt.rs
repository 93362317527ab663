//! The options of a prompt.

use proc_macro2::TokenStream;
use quote::quote;

use crate::expand::value::{Fields, icons, meta};
use crate::model::prompt::Prompt;

/// The fields of `Options`, after those that all kinds have.
pub(crate) fn options(prompt: &Prompt, mut fields: Fields) -> TokenStream {
    fields.set_some("title", prompt.title.as_ref().map(|title| quote!(#title)));
    fields.set_some("group", prompt.group.as_ref().map(|group| quote!(#group)));
    fields.set_some("icons", icons(&prompt.icons));
    fields.set_some("meta", prompt.meta.as_ref().map(meta));
    fields.finish(&quote!(__mcp::Options))
}
