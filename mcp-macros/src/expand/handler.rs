//! Expands any kind of handler into its definition.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};

use crate::expand::checks::handler_checks;
use crate::expand::options::handler_options;
use crate::expand::parameter::ExpandedParameter;
use crate::expand::reference::{function_path, parameter_list};
use crate::expand::run::run_expression;
use crate::expand::tokens::{option_expression, replace_self_and_lifetimes, runtime_path};
use crate::model::handler::Handler;
use crate::parse::kind::Kind;

/// Returns the anonymous constant that describes and registers a handler.
pub(crate) fn handler_definition(handler: &Handler) -> TokenStream {
    let cfgs = &handler.cfgs;
    let runtime = runtime_path(handler.runtime.as_ref());
    let expanded = ExpandedParameter::from_handler(handler);
    let parameters = parameter_list(handler);
    let checks = handler_checks(handler, &expanded);
    let fields = definition_fields(handler, &expanded);
    quote!(
        #(#cfgs)*
        const _: () = {
            use #runtime::__private as __mcp;
            #parameters
            #checks
            static __MCP_DEFINITION: __mcp::Definition = __mcp::Definition { #fields };
            __mcp::inventory::submit! { __mcp::Submitted(&__MCP_DEFINITION) }
        };
    )
}

/// Returns the fields of `Definition`.
fn definition_fields(handler: &Handler, parameters: &[ExpandedParameter<'_>]) -> TokenStream {
    let kind = Ident::new(
        match handler.kind {
            Kind::Tool => "Tool",
            Kind::Prompt => "Prompt",
            Kind::Resource => "Resource",
            Kind::ResourceTemplate => "ResourceTemplate",
            Kind::Completer => "Completer",
        },
        Span::call_site(),
    );
    let name = &handler.name.value;
    let function = function_path(handler);
    let receiver = handler.self_type.as_ref().filter(|_| handler.has_receiver);
    let receiver = option_expression(receiver.map(|ty| {
        let name = quote!(#ty).to_string().replace(' ', "");
        quote!(__mcp::Owner::of::<#ty>(#name))
    }));
    let location = location_expression(&handler.ident);
    let output = return_type(handler);
    let options = handler_options(handler, &output);
    let output_schema = option_expression(
        (handler.kind == Kind::Tool)
            .then(|| quote!(<#output as __mcp::IntoToolResult>::output_schema)),
    );
    let conforms = if handler.kind == Kind::Tool {
        quote!(<#output as __mcp::IntoToolResult>::CONFORMS)
    } else {
        quote!(false)
    };
    let run = run_expression(handler, parameters, &output);
    quote!(
        kind: __mcp::Kind::#kind,
        name: #name,
        function: __mcp::type_id_of(&#function),
        receiver: #receiver,
        location: #location,
        parameters: &__MCP_PARAMETERS,
        options: #options,
        output_schema: #output_schema,
        conforms: #conforms,
        run: #run,
    )
}

/// Returns the location of the function's name. The tokens have the user's span, because `line!()` expands to the line
/// of its invocation.
pub(crate) fn location_expression(ident: &Ident) -> TokenStream {
    quote_spanned!(ident.span()=> __mcp::Location {
        file: ::core::file!(),
        line: ::core::line!(),
        column: ::core::column!(),
    })
}

/// Returns the handler's return type.
fn return_type(handler: &Handler) -> TokenStream {
    handler.output.as_ref().map_or_else(
        || quote!(()),
        |ty| replace_self_and_lifetimes(ty, handler.self_type.as_ref(), "_"),
    )
}
