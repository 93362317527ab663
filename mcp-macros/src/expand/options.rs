//! Expands the options shared by several kinds of handlers into fields of `Options`.

use proc_macro2::TokenStream;
use quote::quote;

use crate::expand::tokens::replace_self_and_lifetimes;
use crate::expand::value::Fields;
use crate::expand::{completer, resource, tool};
use crate::model::handler::Handler;
use crate::parse::access::{Scopes, Tags};
use crate::parse::guard::{GuardOptions, PositiveCount};
use crate::parse::listed::ListedOptions;
use crate::parse::options::Options;
use crate::parse::value::{Expression, PathValue};

/// Returns an expression of type `Options`. `output` is the handler's return type.
pub(crate) fn options_expression(handler: &Handler, output: &TokenStream) -> TokenStream {
    let mut fields = Fields::default();
    let mut meta = None;
    if let Some(listed) = handler.options.listed() {
        set_listed_options(&mut fields, listed, handler.self_type.as_ref());
        meta = listed.meta.as_ref().map(|Expression(meta)| quote!(#meta));
    } else {
        fields.set(
            "guards",
            guard_options_expression(&handler.options.common().guards),
        );
    }
    let meta = match &handler.options {
        Options::Tool(tool) => tool::tool_meta_expression(tool, handler.self_type.as_ref(), meta),
        _ => meta,
    };
    fields.set_some("meta", meta.map(|meta| quote!(|| #meta)));
    match &handler.options {
        Options::Tool(tool) => {
            tool::set_tool_options(&mut fields, tool);
        }
        Options::Resource(uri, resource) => {
            resource::set_resource_options(&mut fields, uri, resource, output);
        }
        Options::Prompt(_) | Options::Completer(_) => {}
    }
    let target = handler.target.as_ref();
    let completes =
        target.map(|target| completer::target_expression(target, handler.self_type.as_ref()));
    fields.set_some("completes", completes);
    fields.into_expression(&quote!(__mcp::Options))
}

/// Sets the fields of `Options` that every listed definition has, except for `meta`.
pub(crate) fn set_listed_options(
    fields: &mut Fields,
    listed: &ListedOptions,
    self_type: Option<&syn::Type>,
) {
    let scopes = listed.scopes.as_ref();
    fields.set(
        "scopes",
        scopes.map(|Scopes(scopes)| quote!(&[#(#scopes),*])),
    );
    let visible_if = listed.visible_if.as_ref().map(|PathValue(path)| {
        let path = replace_self_and_lifetimes(path, self_type, "_");
        quote!(__mcp::visible_if(#path))
    });
    fields.set("visible_if", visible_if);
    fields.set_some("title", listed.title.as_ref());
    let tags = listed.tags.as_ref();
    fields.set("tags", tags.map(|Tags(tags)| quote!(&[#(#tags),*])));
    fields.set_some("icons", listed.icons.as_ref());
    fields.set("guards", guard_options_expression(&listed.common.guards));
}

/// Returns an expression of type `GuardOptions`, or `None` if no limit is set.
fn guard_options_expression(guards: &GuardOptions) -> Option<TokenStream> {
    let mut fields = Fields::default();
    fields.set_some("timeout", guards.timeout.as_ref());
    fields.set_some("rate", guards.rate.as_ref());
    let concurrency = guards.concurrency.as_ref();
    fields.set_some("concurrency", concurrency.map(|PositiveCount(calls)| calls));
    fields.set_some("max_output", guards.max_output.as_ref());
    (!fields.is_empty()).then(|| fields.into_expression(&quote!(__mcp::GuardOptions)))
}
