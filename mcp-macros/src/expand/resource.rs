//! Expands the options for a resource or resource template, and generates checks for its parameters.

use mcp_schema::rules::template_has_variable;
use proc_macro2::TokenStream;
use quote::quote;

use crate::expand::tokens::compile_time_check;
use crate::expand::value::{Fields, flagged_variants};
use crate::model::argument_names::variables_without_parameter;
use crate::model::handler::Handler;
use crate::parse::kind::Kind;
use crate::parse::resource::{Priority, ResourceOptions};
use crate::parse::value::PathValue;

/// Sets the fields of `Options` that only resources and templates have.
pub(crate) fn set_resource_options(
    fields: &mut Fields,
    uri: &syn::LitStr,
    resource: &ResourceOptions,
    output: &TokenStream,
) {
    fields.set("uri", Some(uri));
    if let Some(mime_type) = &resource.mime_type {
        fields.set_some("mime_type", Some(mime_type));
    } else {
        let of_type = quote!(<#output as __mcp::IntoResourceResult>::MIME_TYPE);
        fields.set("mime_type", Some(of_type));
    }
    fields.set_some("size", resource.size.as_ref());
    let audience = resource.audience.as_ref().map(|audience| {
        flagged_variants(
            &quote!(__mcp::Role),
            &[(audience.user, "User"), (audience.assistant, "Assistant")],
        )
    });
    fields.set("audience", audience);
    let priority = resource.priority.as_ref();
    fields.set_some("priority", priority.map(|Priority(priority)| priority));
    fields.set_some("last_modified", resource.last_modified.as_ref());
    fields.set_some("ttl", resource.ttl.as_ref());
    fields.set_some("cache", resource.cache);
    let list = resource.list.as_ref().map(|list| {
        let PathValue(list) = &list.value;
        quote!(|| __mcp::lister(#list))
    });
    fields.set_some("list", list);
}

/// Returns compile-time checks that the arguments are the variables of the URI.
pub(crate) fn variable_checks(handler: &Handler, uri: &syn::LitStr) -> TokenStream {
    let is_template = handler.kind == Kind::ResourceTemplate;
    let template = uri.value();
    let mut checks = TokenStream::new();
    // The message about a variable without a parameter lists the parameters that are not variables.
    if is_template && !variables_without_parameter(&template, &handler.parameters).is_empty() {
        return checks;
    }
    // Every argument of a template must be one of the template's variables; a resource cannot have arguments.
    for (index, parameter) in handler.parameters.iter().enumerate() {
        let verdict = if !is_template {
            quote!(__mcp::rules::resource_parameter(&__MCP_PARAMETERS[#index]))
        } else if template_has_variable(&template, &parameter.name.value) {
            quote!(__mcp::rules::template_variable(&__MCP_PARAMETERS[#index]))
        } else {
            quote!(__mcp::rules::template_parameter(#uri, &__MCP_PARAMETERS[#index]))
        };
        checks.extend(compile_time_check(parameter.name.span, &verdict));
    }
    checks
}
