//! Expands the options for a resource or resource template, and generates checks for its parameters.

use mcp_schema::rules::template_has_variable;
use proc_macro2::TokenStream;
use quote::quote;

use crate::expand::options::OptionList;
use crate::expand::tokens::compile_time_check;
use crate::expand::value::flagged_variants;
use crate::model::argument_names::variables_without_parameter;
use crate::model::handler::Handler;
use crate::parse::kind::Kind;
use crate::parse::resource::{Priority, ResourceOptions};
use crate::parse::value::PathValue;

/// Adds the options that only resources and templates have.
pub(crate) fn set_resource_options(
    list: &mut OptionList,
    uri: &syn::LitStr,
    resource: &ResourceOptions,
    output: &TokenStream,
) {
    let ResourceOptions {
        mime_type,
        size,
        audience,
        priority,
        last_modified,
        ttl,
        cache,
        list: lister,
        listed: _,
    } = resource;
    list.set("Uri", Some(uri));
    if mime_type.is_none() {
        let of_type = quote!(<#output as __mcp::IntoResourceResult>::MIME_TYPE);
        list.set("OutputMimeType", Some(of_type));
    }
    list.set_text("MimeType", mime_type.as_ref());
    list.set("Size", size.as_ref());
    let audience = audience.as_ref().map(|audience| {
        flagged_variants(
            &quote!(__mcp::Role),
            &[(audience.user, "User"), (audience.assistant, "Assistant")],
        )
    });
    list.set("Audience", audience);
    let priority = priority.as_ref().map(|Priority(priority)| priority);
    list.set("Priority", priority);
    list.set("LastModified", last_modified.as_ref());
    list.set("Ttl", ttl.as_ref());
    list.set("Cache", *cache);
    let lister = lister.as_ref().map(|lister| {
        let PathValue(list) = &lister.value;
        quote!(|| __mcp::lister(#list))
    });
    list.set("List", lister);
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
