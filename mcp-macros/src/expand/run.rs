//! Generates the function that starts a call to a handler.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};

use crate::expand::parameter::ExpandedParameter;
use crate::expand::reference::function_path;
use crate::model::handler::{ExecutionMode, Handler};
use crate::parse::kind::Kind;
use crate::parse::options::Options;
use crate::parse::tool::JsonTextValue;

/// Returns the `Run` expression, which starts a call.
pub(crate) fn run_expression(
    handler: &Handler,
    parameters: &[ExpandedParameter<'_>],
    output: &TokenStream,
) -> TokenStream {
    let module = Ident::new(
        match handler.kind {
            Kind::Tool => "tool",
            Kind::Prompt => "prompt",
            Kind::Resource | Kind::ResourceTemplate => "resource",
            Kind::Completer => "completer",
        },
        Span::call_site(),
    );
    let reply = Ident::new(reply_function(handler), Span::call_site());
    let decode = decode_statements(parameters);
    let receiver = handler
        .self_type
        .as_ref()
        .filter(|_| handler.has_receiver)
        .map(|ty| quote!(let __mcp_receiver = __mcp_call.receiver::<#ty>()?;));
    let call = call_expression(handler, parameters);
    let reply_with = |value: TokenStream| quote!(__mcp::#module::#reply::<#output>(#value));
    // Futures have the span of the function's name, so that rustc reports a future that is not `Send` at that name.
    let span = handler.ident.span();
    let (variant, finish) = match handler.execution_mode {
        ExecutionMode::Sync => ("Sync", reply_with(call)),
        ExecutionMode::Blocking => {
            let reply = reply_with(call);
            ("Blocking", quote!(__mcp::blocking(move || #reply)))
        }
        ExecutionMode::Async if borrows_arguments(handler) => {
            let reply = reply_with(quote_spanned!(span=> #call.await));
            (
                "Async",
                quote_spanned!(span=> __mcp::running(async move { #reply })),
            )
        }
        ExecutionMode::Async => ("Async", {
            // This is quoted separately so that rustc reports an invalid return type at the type itself.
            let reply = quote!(__mcp::#module::#reply::<#output>);
            quote_spanned!(span=> __mcp::boxed::<#output, _>(#call, #reply))
        }),
    };
    let variant = Ident::new(variant, Span::call_site());
    quote!(__mcp::Run::#variant(|__mcp_call| {
        #decode
        #receiver
        ::core::result::Result::Ok(#finish)
    }))
}

/// Returns the name of the function that converts the result.
fn reply_function(handler: &Handler) -> &'static str {
    let Options::Tool(tool) = &handler.options else {
        return "reply";
    };
    match tool.text {
        None => "reply",
        Some(JsonTextValue::Compact) => "reply_as_json",
        Some(JsonTextValue::None) => "reply_without_text",
        Some(JsonTextValue::Table) => "reply_as_table",
    }
}

/// Returns the statements that decode each argument into a variable.
fn decode_statements(parameters: &[ExpandedParameter<'_>]) -> TokenStream {
    if parameters.is_empty() {
        return quote!(__mcp_call.decode(&mut [])?;);
    }
    let types = parameters.iter().map(ExpandedParameter::owned_type);
    let nothing = parameters
        .iter()
        .map(|_| quote!(::core::option::Option::None));
    let slots = (0..parameters.len()).map(syn::Index::from);
    let values = parameters.iter().map(ExpandedParameter::variable_name);
    quote!(
        let mut __mcp_slots: (#(::core::option::Option<#types>,)*) = (#(#nothing,)*);
        __mcp_call.decode(&mut [#(&mut __mcp_slots.#slots),*])?;
        let (#(::core::option::Option::Some(#values),)*) = __mcp_slots else {
            return ::core::result::Result::Err(__mcp_call.lost());
        };
    )
}

/// Returns the expression that calls the function.
fn call_expression(handler: &Handler, parameters: &[ExpandedParameter<'_>]) -> TokenStream {
    let function = function_path(handler);
    let receiver = handler.has_receiver.then(|| quote!(&__mcp_receiver,));
    let arguments = parameters
        .iter()
        .map(ExpandedParameter::argument_expression);
    quote_spanned!(handler.ident.span()=> #function(#receiver #(#arguments),*))
}

/// Returns `true` if the future borrows values and must therefore be wrapped in an `async move` block that owns them.
fn borrows_arguments(handler: &Handler) -> bool {
    handler.has_receiver || handler.parameters.iter().any(|parameter| parameter.lent)
}
