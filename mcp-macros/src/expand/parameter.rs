//! Expands a parameter's description, its default, and the value that it receives when the handler is called.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;

use crate::expand::constraints::{constraint_checks, constraints_expression, suitability_check};
use crate::expand::tokens::{
    compile_time_check, first_span, macro_span_at, replace_self_and_lifetimes,
};
use crate::model::handler::Handler;
use crate::model::parameter::Parameter;
use crate::parse::annotations::ParameterAnnotations;
use crate::parse::argument::{ArgumentOptions, DefaultValue};
use crate::parse::complete::CandidateSource;
use crate::parse::kind::Kind;
use crate::parse::options::Options;

/// A parameter and the types needed to expand it.
pub(crate) struct ExpandedParameter<'a> {
    handler: &'a Handler,
    parameter: &'a Parameter,
    index: usize,
    /// The type of the decoded or injected value.
    owned: TokenStream,
    /// The type as written; for `&T`, this is `T`.
    written: TokenStream,
}

impl<'a> ExpandedParameter<'a> {
    pub(crate) fn from_handler(handler: &'a Handler) -> Vec<Self> {
        let expand = |(index, parameter): (usize, &'a Parameter)| {
            let written =
                replace_self_and_lifetimes(&parameter.ty, handler.self_type.as_ref(), "static");
            let owned = if parameter.lent {
                quote_spanned!(macro_span_at(first_span(&written))=> <#written as __mcp::Lend>::Owned)
            } else {
                written.clone()
            };
            Self {
                handler,
                parameter,
                index,
                owned,
                written,
            }
        };
        handler.parameters.iter().enumerate().map(expand).collect()
    }

    /// Returns the type of the decoded or injected value.
    pub(crate) fn owned_type(&self) -> &TokenStream {
        &self.owned
    }

    /// Returns the name of the variable that holds the value.
    pub(crate) fn variable_name(&self) -> Ident {
        format_ident!("__mcp_{}", self.index)
    }

    /// Returns the expression that is passed to the function.
    pub(crate) fn argument_expression(&self) -> TokenStream {
        let value = self.variable_name();
        if self.parameter.lent {
            let written = &self.written;
            quote!(__mcp::referent::<#written>(&#value))
        } else {
            quote!(#value)
        }
    }

    /// Returns the element of `__MCP_PARAMETERS`. Only this element has a bound on the parameter's type.
    pub(crate) fn parameter_meta(&self) -> TokenStream {
        let (parameter, owned) = (self.parameter, &self.owned);
        let ParameterAnnotations {
            options,
            description,
            complete,
            ..
        } = &parameter.annotations;
        // The first parameter of a completer receives the text typed so far, which is not a named argument.
        let name = if self.is_partial_text() {
            ""
        } else {
            &parameter.name.value
        };
        let doc = description.as_ref().map_or_else(
            || quote!(""),
            |description| {
                replace_self_and_lifetimes(description, self.handler.self_type.as_ref(), "static")
            },
        );
        let constraints = constraints_expression(&options.constraints, parameter.example.as_ref())
            .map(|constraints| quote!(.constraints(&#constraints)));
        let default = self.default_expression();
        let complete = complete.as_ref().map(|complete| match &complete.value {
            CandidateSource::Function(function) => {
                let function =
                    replace_self_and_lifetimes(function, self.handler.self_type.as_ref(), "_");
                quote!(.completer(|| __mcp::named(&#function)))
            }
            CandidateSource::Candidates(texts) => quote!(.candidates(&[#(#texts),*])),
        });
        let header = options.header.as_ref();
        let header = header.map(|header| quote!(.header(#header)));
        let flatten = options.flatten.is_present().then(|| quote!(.flatten()));
        let any_path = options.any_path.is_present().then(|| quote!(.any_path()));
        let probe = quote!(<__mcp::Probe<#owned>>);
        // The compiler underlines this method if the type is of two kinds.
        let kind = Ident::new("kind", macro_span_at(first_span(&self.written)));
        // Only the tools for which calls are compared are built with the code for it.
        let is_compared =
            matches!(&self.handler.options, Options::Tool(tool) if tool.idempotent_by.is_some());
        let identity = is_compared.then(|| quote!(.identity(#probe::IDENTITY)));
        quote!(__mcp::source(
            #probe::from_context, #probe::async_from_context, #probe::deserialize, #probe::json_schema
        )
            .#kind().parameter::<#owned>(#name, #doc) #constraints #default #complete #header #flatten #any_path #identity)
    }

    fn default_expression(&self) -> Option<TokenStream> {
        match &self.parameter.annotations.options.default.as_ref()?.value {
            DefaultValue::Json(_, json) => Some(quote!(.default_json(#json))),
            DefaultValue::OfType | DefaultValue::Rust(_) => {
                let function = self.default_function_name();
                Some(quote!(.default_value(__mcp::DefaultValue::Rust {
                    fill: |__mcp_slot| __mcp::fill(__mcp_slot, #function()),
                    json: || __mcp::to_json(&#function()),
                })))
            }
        }
    }

    fn default_function_name(&self) -> Ident {
        format_ident!("__mcp_default_{}", self.index)
    }

    /// Returns a function that creates the default, or `None` if there is no default or the default is given as JSON.
    /// Using a function ensures that the user's expression appears only once in the expansion.
    pub(crate) fn default_function(&self) -> Option<TokenStream> {
        let default = self.parameter.annotations.options.default.as_ref()?;
        let expression = match &default.value {
            DefaultValue::Json(..) => return None,
            DefaultValue::OfType => {
                quote_spanned!(macro_span_at(default.key)=> ::core::default::Default::default())
            }
            DefaultValue::Rust(expression) => {
                replace_self_and_lifetimes(expression, self.handler.self_type.as_ref(), "_")
            }
        };
        let (function, owned) = (self.default_function_name(), &self.owned);
        Some(quote!(fn #function() -> #owned { #expression }))
    }

    /// Returns `true` for the first parameter of a completer, which receives the text typed so far.
    fn is_partial_text(&self) -> bool {
        self.handler.kind == Kind::Completer && self.index == 0
    }

    /// Returns constants that fail to compile if an option is invalid for the parameter's type.
    pub(crate) fn type_checks(&self) -> TokenStream {
        let (owned, index) = (&self.owned, self.index);
        let constraints = &self.parameter.annotations.options.constraints;
        let mut checks = constraint_checks(owned, constraints);
        let mut suits = |span: Span, check: &str| {
            checks.extend(suitability_check(owned, span, check, None));
        };
        let ArgumentOptions {
            header, any_path, ..
        } = &self.parameter.annotations.options;
        if let Some(header) = header {
            suits(header.span(), "check_header");
        }
        if any_path.is_present() {
            suits(any_path.span(), "check_any_path");
        }
        if self.is_partial_text() {
            let span = self.parameter.ty.span();
            suits(span, "check_partial_text");
            checks.extend(compile_time_check(
                span,
                &quote!(__mcp::rules::partial_text(&__MCP_PARAMETERS[#index])),
            ));
        }
        let has_own_schema =
            matches!(&self.handler.options, Options::Tool(tool) if tool.schema.is_some());
        if !has_own_schema {
            checks.extend(compile_time_check(
                first_span(&self.written),
                &quote!(<__mcp::Probe<#owned>>::SUITABILITY),
            ));
        }
        if let Some(marker) = self.parameter.annotations.marker {
            checks.extend(compile_time_check(
                marker,
                &quote!(__mcp::rules::is_argument(&__MCP_PARAMETERS[#index])),
            ));
        }
        checks
    }
}
