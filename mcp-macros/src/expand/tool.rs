//! The options of a tool.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use crate::expand::tokens::at;
use crate::expand::value::{Fields, cache_scope, duration, icons, meta};
use crate::model::tool::Tool;

/// Returns `Options`: the common fields, then the tool's own.
pub(crate) fn options(tool: &Tool, mut fields: Fields) -> TokenStream {
    fields.set_some("title", tool.title.as_ref().map(|title| quote!(#title)));
    let tags = &tool.tags;
    if !tags.is_empty() {
        fields.set("tags", &quote!(&[#(#tags),*]));
    }
    fields.set_some("icons", icons(&tool.icons));
    fields.set_some("meta", tool.meta.as_ref().map(meta));
    let hints = [
        ("read_only", tool.read_only),
        ("destructive", tool.destructive),
        ("idempotent", tool.idempotent),
        ("open_world", tool.open_world),
    ];
    for (name, hint) in hints {
        fields.set_some(name, hint.map(|hint| quote!(#hint)));
    }
    if !tool.requires.is_empty() {
        let features = tool
            .requires
            .iter()
            .map(|variant| syn::Ident::new(variant, Span::call_site()));
        fields.set("requires", &quote!(&[#(__mcp::ClientFeature::#features),*]));
    }
    let schema = tool.schema.as_ref().map(
        |schema| quote_spanned!(at(schema.span())=> || __mcp::IntoSchema::into_schema(#schema)),
    );
    fields.set_some("input_schema", schema);
    if tool.strict {
        fields.set("strict", &quote!(true));
    }
    fields.set_some("ttl", tool.ttl.as_ref().map(duration));
    fields.set_some("cache", tool.cache.map(cache_scope));
    fields.finish(&quote!(__mcp::Options))
}
