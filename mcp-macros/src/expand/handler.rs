//! The definition of a handler of any kind.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;

use crate::expand::parameter::Expanded;
use crate::expand::tokens::{assert_verdict, at, option, outside};
use crate::expand::value::icon_checks;
use crate::expand::{access, completer, guard, prompt, resource, tool};
use crate::model::handler::{Flavor, Options};
use crate::model::{Handler, Kind};

/// Returns the anonymous constant that describes and registers a handler.
pub(crate) fn definition(handler: &Handler) -> TokenStream {
    let cfgs = &handler.cfgs;
    let runtime = runtime(handler.runtime.as_ref());
    let parameters = Expanded::all(handler);
    let statics = (!has_reference(handler)).then(|| parameter_statics(&parameters));
    let outer = match (has_reference(handler), &handler.self_type) {
        (true, None) => reference(handler),
        _ => None,
    };
    let table = parameter_table(handler);
    let checks = checks(handler, &parameters, &table);
    let fields = fields(handler, &parameters, &table);
    quote!(
        #outer
        #(#cfgs)*
        const _: () = {
            use #runtime::__private as __mcp;
            #statics
            #checks
            static __MCP_DEFINITION: __mcp::Definition = __mcp::Definition { #fields };
            __mcp::inventory::submit! { __mcp::Submitted(&__MCP_DEFINITION) }
        };
    )
}

/// Returns the path of the runtime crate.
pub(crate) fn runtime(path: Option<&syn::Path>) -> TokenStream {
    path.map_or_else(|| quote!(::mcp_runtime), |path| quote!(#path))
}

/// Returns `true` if a completer may refer to the handler's parameters.
fn has_reference(handler: &Handler) -> bool {
    matches!(handler.kind, Kind::Prompt | Kind::ResourceTemplate)
}

/// Returns the name of the hidden function that `#[completer(prompt = …)]` calls for the parameters of a prompt or template.
pub(crate) fn reference_name(function: &Ident) -> Ident {
    format_ident!("__mcp_prompt_{}", function.unraw(), span = function.span())
}

/// Returns that function, to be placed next to the handler.
pub(crate) fn reference(handler: &Handler) -> Option<TokenStream> {
    if !has_reference(handler) {
        return None;
    }
    let cfgs = &handler.cfgs;
    let runtime = runtime(handler.runtime.as_ref());
    let visibility = &handler.visibility;
    let mut name = reference_name(&handler.ident);
    name.set_span(at(handler.ident.span()));
    let statics = parameter_statics(&Expanded::all(handler));
    let function = function_path(handler);
    Some(quote!(
        #(#cfgs)*
        #[doc(hidden)]
        #visibility const fn #name() -> #runtime::__private::CompletionTarget {
            use #runtime::__private as __mcp;
            #statics
            __mcp::CompletionTarget {
                function: __mcp::type_id_of(&#function),
                parameters: &__MCP_PARAMETERS,
            }
        }
    ))
}

fn parameter_statics(parameters: &[Expanded<'_>]) -> TokenStream {
    let count = parameters.len();
    let metas = parameters.iter().map(Expanded::meta);
    let defaults = parameters.iter().map(Expanded::default_function);
    let fallback = (count > 0).then(|| {
        quote!(
            use __mcp::ImplementsFallback as _;
        )
    });
    quote!(
        #fallback
        #(#defaults)*
        static __MCP_PARAMETERS: [__mcp::ParameterMeta; #count] = [#(#metas),*];
    )
}

/// Returns an expression for the parameters, valid inside the anonymous constant.
fn parameter_table(handler: &Handler) -> TokenStream {
    if !has_reference(handler) {
        return quote!(__MCP_PARAMETERS);
    }
    let name = reference_name(&handler.ident);
    let path = path_to(handler, &name);
    quote!(#path().parameters)
}

/// Returns the checks made at compile time.
fn checks(handler: &Handler, parameters: &[Expanded<'_>], table: &TokenStream) -> TokenStream {
    let mut checks = TokenStream::new();
    let name = &handler.name;
    // ASCII identifiers of usual length are valid names; only other names need a check.
    if handler.kind == Kind::Tool
        && (name.chosen || !name.value.is_ascii() || name.value.len() > 128)
    {
        let value = &name.value;
        checks.extend(assert_verdict(
            name.span,
            &quote!(__mcp::rules::tool_name(#value)),
        ));
    }
    checks.extend(access::checks(handler));
    checks.extend(parameters.iter().map(Expanded::checks));
    for (index, parameter) in handler.parameters.iter().enumerate() {
        if let Some(marker) = parameter.marker {
            checks.extend(assert_verdict(
                marker,
                &quote!(__mcp::rules::is_argument(&#table[#index])),
            ));
        }
    }
    checks.extend(guard::checks(&handler.guards));
    match &handler.options {
        Options::Tool(tool) => checks.extend(icon_checks(&tool.icons)),
        Options::Prompt(prompt) => checks.extend(icon_checks(&prompt.icons)),
        Options::Resource(resource) => {
            checks.extend(icon_checks(&resource.icons));
            checks.extend(resource::checks(handler, resource, table));
        }
        Options::Completer(completer) => {
            checks.extend(completer::checks(completer, handler.self_type.as_ref()));
        }
    }
    checks
}

/// Returns the fields of `Definition`.
fn fields(handler: &Handler, parameters: &[Expanded<'_>], table: &TokenStream) -> TokenStream {
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
    let description = handler.description.as_ref().map_or_else(
        || quote!(""),
        |description| outside(description, handler.self_type.as_ref(), "_"),
    );
    let function = function_path(handler);
    let receiver = handler.self_type.as_ref().filter(|_| handler.has_receiver);
    let receiver = option(receiver.map(|ty| {
        let name = quote!(#ty).to_string().replace(' ', "");
        quote!(__mcp::Owner { id: ::core::any::TypeId::of::<#ty>(), name: #name })
    }));
    let location = location(&handler.ident);
    let output = output(handler);
    let mut options = access::fields(handler);
    guard::set(&mut options, &handler.guards);
    let options = match &handler.options {
        Options::Tool(tool) => tool::options(tool, options),
        Options::Prompt(prompt) => prompt::options(prompt, options),
        Options::Resource(resource) => resource::options(resource, options),
        Options::Completer(completer) => completer::options(completer, options),
    };
    let output_schema = option(
        (handler.kind == Kind::Tool)
            .then(|| quote!(<#output as __mcp::IntoToolResult>::output_schema)),
    );
    let table = if has_reference(handler) {
        table.clone()
    } else {
        quote!(&#table)
    };
    let run = run(handler, parameters, &output);
    quote!(
        kind: __mcp::Kind::#kind,
        name: #name,
        description: #description,
        function: __mcp::type_id_of(&#function),
        receiver: #receiver,
        location: #location,
        parameters: #table,
        options: &#options,
        output_schema: #output_schema,
        run: #run,
    )
}

/// Returns the function as an expression.
fn function_path(handler: &Handler) -> TokenStream {
    path_to(handler, &handler.ident)
}

/// Returns the path to a function next to the handler, valid outside the `impl` block.
fn path_to(handler: &Handler, name: &Ident) -> TokenStream {
    handler
        .self_type
        .as_ref()
        .map_or_else(|| quote!(#name), |ty| quote!(<#ty>::#name))
}

/// Returns the location of the function's name. The tokens have the user's span, because `line!()` expands to the line of its
/// call.
fn location(ident: &Ident) -> TokenStream {
    quote_spanned!(ident.span()=> __mcp::Location {
        file: ::core::file!(),
        line: ::core::line!(),
        column: ::core::column!(),
    })
}

/// Returns the return type.
fn output(handler: &Handler) -> TokenStream {
    handler.output.as_ref().map_or_else(
        || quote!(()),
        |ty| outside(ty, handler.self_type.as_ref(), "_"),
    )
}

/// Returns the `Run` that starts a call.
fn run(handler: &Handler, parameters: &[Expanded<'_>], output: &TokenStream) -> TokenStream {
    let module = Ident::new(
        match handler.kind {
            Kind::Tool => "tool",
            Kind::Prompt => "prompt",
            Kind::Resource | Kind::ResourceTemplate => "resource",
            Kind::Completer => "completer",
        },
        Span::call_site(),
    );
    let decode = decode(parameters);
    let receiver = handler
        .self_type
        .as_ref()
        .filter(|_| handler.has_receiver)
        .map(|ty| quote!(let __mcp_receiver = __mcp_call.receiver::<#ty>()?;));
    let call = call(handler, parameters);
    let reply = |value: TokenStream| quote!(__mcp::#module::reply::<#output>(#value));
    // Futures are spanned at the name of the function, so that rustc reports a future that is not `Send` there.
    let span = handler.ident.span();
    let (variant, finish) = match handler.flavor {
        Flavor::Sync => ("Sync", reply(call)),
        Flavor::Blocking => {
            let reply = reply(call);
            ("Blocking", quote!(__mcp::blocking(move || #reply)))
        }
        Flavor::Async if borrows(handler) => {
            let reply = reply(quote_spanned!(span=> #call.await));
            (
                "Async",
                quote_spanned!(span=> __mcp::running(async move { #reply })),
            )
        }
        Flavor::Async => ("Async", {
            // Quoted separately, so that the error for an invalid return type is reported at the type.
            let reply = quote!(__mcp::#module::reply::<#output>);
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

/// Returns the statements that decode each argument into a variable.
fn decode(parameters: &[Expanded<'_>]) -> TokenStream {
    if parameters.is_empty() {
        return quote!(__mcp_call.decode(&mut [])?;);
    }
    let types = parameters.iter().map(Expanded::owned);
    let nothing = parameters
        .iter()
        .map(|_| quote!(::core::option::Option::None));
    let slots = (0..parameters.len()).map(syn::Index::from);
    let values = parameters.iter().map(Expanded::value);
    quote!(
        let mut __mcp_slots: (#(::core::option::Option<#types>,)*) = (#(#nothing,)*);
        __mcp_call.decode(&mut [#(&mut __mcp_slots.#slots),*])?;
        let (#(::core::option::Option::Some(#values),)*) = __mcp_slots else {
            return ::core::result::Result::Err(__mcp_call.lost());
        };
    )
}

/// Returns the call itself.
fn call(handler: &Handler, parameters: &[Expanded<'_>]) -> TokenStream {
    let function = function_path(handler);
    let receiver = handler.has_receiver.then(|| quote!(&__mcp_receiver,));
    let arguments = parameters.iter().map(Expanded::argument);
    quote_spanned!(handler.ident.span()=> #function(#receiver #(#arguments),*))
}

/// Returns `true` if the future borrows, so that a block around it must own the borrowed values.
fn borrows(handler: &Handler) -> bool {
    handler.has_receiver || handler.parameters.iter().any(|parameter| parameter.lent)
}
