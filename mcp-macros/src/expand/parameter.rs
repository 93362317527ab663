//! One parameter: its description, its default, and its value in the call.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;

use crate::expand::tokens::{at, first_span, option, outside};
use crate::model::default_value::DefaultValue;
use crate::model::parameter::{Constraints, Parameter};
use crate::model::{Handler, Kind};
use crate::parse::argument::{Complete, Number, NumberValue};

/// A parameter, with the types that its tokens need.
pub(crate) struct Expanded<'a> {
    handler: &'a Handler,
    parameter: &'a Parameter,
    index: usize,
    /// The type that is decoded or injected.
    owned: TokenStream,
    /// The type as written; for `&T`, the `T`.
    written: TokenStream,
}

impl<'a> Expanded<'a> {
    pub(crate) fn all(handler: &'a Handler) -> Vec<Self> {
        let expand = |(index, parameter): (usize, &'a Parameter)| {
            let written = outside(&parameter.ty, handler.self_type.as_ref(), "static");
            let owned = if parameter.lent {
                quote_spanned!(at(first_span(&written))=> <#written as __mcp::Lend>::Owned)
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

    /// Returns the type that is decoded or injected.
    pub(crate) fn owned(&self) -> &TokenStream {
        &self.owned
    }

    /// Returns the name of the variable that holds the value.
    pub(crate) fn value(&self) -> Ident {
        format_ident!("__mcp_{}", self.index)
    }

    /// Returns the expression that is passed to the function.
    pub(crate) fn argument(&self) -> TokenStream {
        let value = self.value();
        if self.parameter.lent {
            let written = &self.written;
            quote!(__mcp::referent::<#written>(&#value))
        } else {
            quote!(#value)
        }
    }

    /// Returns the element of `__MCP_PARAMETERS`, the only place with the bound on the type.
    pub(crate) fn meta(&self) -> TokenStream {
        let (parameter, owned) = (self.parameter, &self.owned);
        // The first parameter of a completer takes the text typed so far, which has no name.
        let name = match self.handler.kind {
            Kind::Completer if self.index == 0 => "",
            _ => &parameter.name.value,
        };
        let doc = parameter.description.as_ref().map_or_else(
            || quote!(""),
            |description| outside(description, self.handler.self_type.as_ref(), "static"),
        );
        let constraints = (!parameter.constraints.is_empty() || parameter.example.is_some())
            .then(|| constraints(&parameter.constraints, parameter.example.as_deref()))
            .map(|constraints| quote!(.constraints(&#constraints)));
        let default = self.default();
        let complete = parameter.complete.as_ref().map(|complete| match complete {
            Complete::Function(function) => {
                let function = outside(function, self.handler.self_type.as_ref(), "_");
                quote!(.completer(|| __mcp::named(&#function)))
            }
            Complete::Candidates(texts) => quote!(.candidates(&[#(#texts),*])),
        });
        let header = parameter
            .header
            .as_ref()
            .map(|header| quote!(.header(#header)));
        let flatten = parameter.flatten.then(|| quote!(.flatten()));
        let any_path = parameter.any_path.map(|_| quote!(.any_path()));
        let implements = quote!(<__mcp::Implements<#owned>>);
        quote!(__mcp::source(
            #implements::from_context, #implements::deserialize, #implements::json_schema,
        ).parameter::<#owned>(#name, #doc) #constraints #default #complete #header #flatten #any_path)
    }

    fn default(&self) -> Option<TokenStream> {
        match &self.parameter.default.as_ref()?.value {
            DefaultValue::Json(json) => Some(quote!(.default_json(#json))),
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

    /// Returns the default as a function, if it is Rust, so that the user's expression occurs only once.
    pub(crate) fn default_function(&self) -> TokenStream {
        let Some(default) = &self.parameter.default else {
            return TokenStream::new();
        };
        let expression = match &default.value {
            DefaultValue::Json(_) => return TokenStream::new(),
            DefaultValue::OfType => {
                quote_spanned!(at(default.key)=> ::core::default::Default::default())
            }
            DefaultValue::Rust(expression) => {
                outside(expression, self.handler.self_type.as_ref(), "_")
            }
        };
        let (function, owned) = (self.default_function_name(), &self.owned);
        quote!(fn #function() -> #owned { #expression })
    }

    /// Returns constants that fail to compile if an option does not suit the type.
    pub(crate) fn checks(&self) -> TokenStream {
        let mut checks = Checks {
            owned: &self.owned,
            tokens: TokenStream::new(),
        };
        let Constraints {
            range,
            length,
            pattern,
            format,
            items,
        } = &self.parameter.constraints;
        if let Some(range) = range {
            checks.suits(
                range.key,
                "RANGE",
                "`range` applies to numbers; for strings use `length` or `pattern`",
            );
            for end in [&range.value.start, &range.value.end].into_iter().flatten() {
                checks.fits(end);
            }
        }
        if let Some(length) = length {
            checks.suits(
                length.key,
                "LENGTH",
                "`length` applies to strings and lists; for numbers use `range`",
            );
        }
        for text in [pattern, format].into_iter().flatten() {
            checks.suits(
                text.key,
                "TEXT",
                "`pattern` and `format` apply to strings; for numbers use `range`",
            );
        }
        if let Some(items) = items {
            checks.suits(
                items.key,
                "ITEMS",
                "`items` applies to lists; write its options without `items(…)`",
            );
        }
        if let Some(header) = &self.parameter.header {
            checks.suits(
                header.span(),
                "HEADER",
                "`header` applies to strings, booleans and whole numbers; remove it",
            );
            checks.tokens.extend(crate::expand::tokens::assert_verdict(
                header.span(),
                &quote!(__mcp::rules::header(#header)),
            ));
        }
        if let Some(span) = self.parameter.any_path {
            checks.suits(
                span,
                "TEXT",
                "`any_path` applies to strings; a number cannot lead out of a directory",
            );
        }
        if self.handler.kind == Kind::Completer && self.index == 0 {
            let span = self.parameter.ty.span();
            checks.suits(
                span,
                "TEXT",
                "the first parameter of a completer must be a string, the text typed so far: `partial: &str`",
            );
            checks.tokens.extend(crate::expand::tokens::assert_verdict(
                span,
                &quote!(__mcp::rules::partial_text(&__MCP_PARAMETERS[0])),
            ));
        }
        checks.tokens
    }
}

/// The checks of one type.
struct Checks<'a> {
    owned: &'a TokenStream,
    tokens: TokenStream,
}

impl Checks<'_> {
    /// Adds a check that an option suits the type.
    fn suits(&mut self, span: Span, constant: &str, message: &str) {
        let constant = Ident::new(constant, Span::call_site());
        let owned = self.owned;
        self.tokens.extend(quote_spanned!(at(span)=>
            const _: () = {
                use __mcp::ConstraintFallback as _;
                // Keeps the import in use where the type has the constant itself.
                ::core::assert!(<__mcp::Probe<()>>::#constant);
                ::core::assert!(<__mcp::Probe<#owned>>::#constant, #message);
            };
        ));
    }

    /// Adds a check that the type can hold the number.
    fn fits(&mut self, number: &Number) {
        let NumberValue::Integer(value) = number.value else {
            return;
        };
        let owned = self.owned;
        self.tokens.extend(quote_spanned!(at(number.span)=>
            const _: () = {
                use __mcp::ConstraintFallback as _;
                ::core::assert!(<__mcp::Probe<()>>::RANGE);
                ::core::assert!(
                    <__mcp::Probe<#owned>>::MIN <= #value && #value <= <__mcp::Probe<#owned>>::MAX,
                    "the argument's type cannot hold this number"
                );
            };
        ));
    }
}

/// Returns an expression of type `Constraints`.
fn constraints(constraints: &Constraints, example: Option<&str>) -> TokenStream {
    let Constraints {
        range,
        length,
        pattern,
        format,
        items,
    } = constraints;
    let mut fields = TokenStream::new();
    let mut set = |name: &str, value: Option<TokenStream>| {
        if value.is_some() {
            let (name, value) = (Ident::new(name, Span::call_site()), option(value));
            fields.extend(quote!(#name: #value,));
        }
    };
    let end = |number: &Option<Number>| number.as_ref().map(bound);
    set(
        "minimum",
        range.as_ref().and_then(|range| end(&range.value.start)),
    );
    set(
        "maximum",
        range.as_ref().and_then(|range| end(&range.value.end)),
    );
    let count = |count: Option<u64>| count.map(|count| quote!(#count));
    set(
        "min_length",
        length.as_ref().and_then(|length| count(length.value.min)),
    );
    set(
        "max_length",
        length.as_ref().and_then(|length| count(length.value.max)),
    );
    let text = |text: &syn::LitStr| quote!(#text);
    set(
        "pattern",
        pattern.as_ref().map(|pattern| text(&pattern.value)),
    );
    set("format", format.as_ref().map(|format| text(&format.value)));
    set("example", example.map(|example| quote!(#example)));
    set(
        "items",
        items.as_ref().map(|items| {
            let items = self::constraints(&items.value, None);
            quote!(&#items)
        }),
    );
    quote!(__mcp::Constraints { #fields ..__mcp::Constraints::NONE })
}

fn bound(number: &Number) -> TokenStream {
    match number.value {
        NumberValue::Integer(value) => quote!(__mcp::Bound::Integer(#value)),
        NumberValue::Float(value) => quote!(__mcp::Bound::Float(#value)),
    }
}
