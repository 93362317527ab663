//! The options of a resource or template, and the checks of its URI.

use proc_macro2::{Span, TokenStream};
use quote::quote;

use crate::expand::tokens::assert_verdict;
use crate::expand::value::{Fields, cache_scope, duration, icons, meta};
use crate::model::parameter::Parameter;
use crate::model::resource::Resource;
use crate::model::{Handler, Kind};

/// Returns `Options`: the common fields, then the resource's own.
pub(crate) fn options(resource: &Resource, mut fields: Fields) -> TokenStream {
    let uri = &resource.uri;
    fields.set("uri", &quote!(#uri));
    fields.set_some("title", resource.title.as_ref().map(|title| quote!(#title)));
    let tags = &resource.tags;
    if !tags.is_empty() {
        fields.set("tags", &quote!(&[#(#tags),*]));
    }
    fields.set_some(
        "mime_type",
        resource
            .mime_type
            .as_ref()
            .map(|mime_type| quote!(#mime_type)),
    );
    fields.set_some("icons", icons(&resource.icons));
    fields.set_some("meta", resource.meta.as_ref().map(meta));
    fields.set_some("size", resource.size.map(|size| quote!(#size)));
    if !resource.audience.is_empty() {
        let roles = resource
            .audience
            .iter()
            .map(|variant| syn::Ident::new(variant, Span::call_site()));
        fields.set("audience", &quote!(&[#(__mcp::Role::#roles),*]));
    }
    fields.set_some(
        "priority",
        resource.priority.map(|priority| quote!(#priority)),
    );
    fields.set_some(
        "last_modified",
        resource.last_modified.as_ref().map(|time| quote!(#time)),
    );
    fields.set_some("ttl", resource.ttl.as_ref().map(duration));
    fields.set_some("cache", resource.cache.map(cache_scope));
    let list = resource
        .list
        .as_ref()
        .map(|list| quote!(|| __mcp::lister(#list)));
    fields.set_some("list", list);
    fields.finish(&quote!(__mcp::Options))
}

/// Returns the checks made at compile time: of the URI, the media type, the time and the parameters.
pub(crate) fn checks(
    handler: &Handler,
    resource: &Resource,
    parameters: &TokenStream,
) -> TokenStream {
    let uri = &resource.uri;
    let mut checks = TokenStream::new();
    if let Some(mime_type) = &resource.mime_type {
        checks.extend(assert_verdict(
            mime_type.span(),
            &quote!(__mcp::rules::media_type(#mime_type)),
        ));
    }
    if let Some(time) = &resource.last_modified {
        checks.extend(assert_verdict(
            time.span(),
            &quote!(__mcp::rules::timestamp(#time)),
        ));
    }
    let verdict = if handler.kind == Kind::ResourceTemplate {
        quote!(__mcp::rules::template(#uri, #parameters))
    } else {
        quote!(__mcp::rules::uri(#uri))
    };
    checks.extend(assert_verdict(uri.span(), &verdict));
    for (index, parameter) in handler.parameters.iter().enumerate() {
        checks.extend(parameter_check(
            handler.kind,
            uri,
            parameters,
            index,
            parameter,
        ));
    }
    checks
}

/// Returns the check that an argument of a template is one of its variables, or that a resource has no arguments.
fn parameter_check(
    kind: Kind,
    uri: &syn::LitStr,
    parameters: &TokenStream,
    index: usize,
    parameter: &Parameter,
) -> TokenStream {
    let verdict = if kind == Kind::ResourceTemplate {
        quote!(__mcp::rules::template_parameter(#uri, &#parameters[#index]))
    } else {
        quote!(__mcp::rules::resource_parameter(&#parameters[#index]))
    };
    assert_verdict(parameter.name.span, &verdict)
}
