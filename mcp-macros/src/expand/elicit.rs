//! `#[derive(Elicit)]`: turns structs into forms and enums into choices.
//!
//! Each field is described by a separate constant, and only this constant has a bound on the field's type. A type that
//! cannot be used in a form therefore causes a single error, which points at the type.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;

use crate::expand::constraints::number_checks;
use crate::expand::tokens::{macro_span_at, runtime_path};
use crate::model::elicit::{Choice, Elicited, ElicitedContents, FormField};
use crate::parse::argument::{Constraints, DefaultValue};
use crate::parse::elicit::ElicitedField;
use crate::parse::range::{Number, NumberValue};
use crate::parse::value::Keyed;

/// Returns the trait implementations for a form or choice.
pub(crate) fn expand_elicit(elicited: &Elicited) -> TokenStream {
    let runtime = runtime_path(elicited.runtime.as_ref());
    let body = match &elicited.contents {
        ElicitedContents::Form(fields) => expand_form(&elicited.ident, fields),
        ElicitedContents::Choices(choices) => self::expand_choices(&elicited.ident, choices),
    };
    quote!(
        const _: () = {
            use #runtime::__private as __mcp;
            use __mcp::ProbeFallback as _;
            #body
        };
    )
}

fn expand_form(name: &syn::Ident, fields: &[FormField]) -> TokenStream {
    let fields: Vec<Field<'_>> = fields.iter().enumerate().map(Field::new).collect();
    let descriptions = fields.iter().map(Field::meta_and_checks);
    let adds = fields.iter().map(|field| {
        let (meta, name, with) = (&field.meta, &field.model.name.value, &field.with);
        quote!(let __mcp_form = #meta.add(__mcp_form, #name, |__mcp_field| __mcp_field #(#with)*);)
    });
    let takes = fields.iter().map(|field| {
        let (meta, name, ident) = (
            &field.meta,
            &field.model.name.value,
            &field.model.parsed.ident,
        );
        quote!(#ident: #meta.take(__mcp_answer, #name)?,)
    });
    let puts = fields.iter().map(|field| {
        let (meta, name, ident) = (
            &field.meta,
            &field.model.name.value,
            &field.model.parsed.ident,
        );
        quote!(#meta.put(__mcp_answer, #name, &self.#ident))
    });
    quote!(
        #(#descriptions)*

        #[automatically_derived]
        impl __mcp::Elicit for #name {
            fn form() -> __mcp::Form {
                let __mcp_form = __mcp::Form::new();
                #(#adds)*
                __mcp_form
            }

            fn from_answer(
                __mcp_answer: &__mcp::Meta,
            ) -> ::core::result::Result<Self, ::std::string::String> {
                let _ = __mcp_answer;
                ::core::result::Result::Ok(Self { #(#takes)* })
            }

            fn to_answer(&self) -> __mcp::Meta {
                let __mcp_answer = __mcp::Meta::new();
                #(let __mcp_answer = #puts;)*
                __mcp_answer
            }
        }
    )
}

/// The tokens for a form field.
struct Field<'a> {
    model: &'a FormField,
    /// The name of the constant that describes the field.
    meta: syn::Ident,
    /// Method calls that set the options on a `Field`.
    with: Vec<TokenStream>,
    /// Compile-time checks that the options are valid for the type.
    checks: Vec<TokenStream>,
}

impl<'a> Field<'a> {
    fn new((index, model): (usize, &'a FormField)) -> Self {
        let mut field = Self {
            model,
            meta: format_ident!("__MCP_FIELD_{index}"),
            with: Vec::new(),
            checks: Vec::new(),
        };
        let ElicitedField {
            description,
            options,
            ..
        } = &model.parsed;
        if let Some(title) = &options.title {
            field.with.push(quote!(.title(#title)));
        }
        if let Some(text) = description {
            field.with.push(quote!(.description(#text)));
        }
        field.add_range(&options.constraints);
        if let Some(Keyed { key, value }) = &options.constraints.length {
            let ends = [value.min, value.max].map(|end| {
                end.map_or_else(
                    || quote!(__mcp::Unbounded),
                    |end| quote!(__mcp::Included(#end)),
                )
            });
            field.with.push(quote!(.length((#(#ends),*))));
            field.add_check(*key, "check_length", None);
        }
        if let (Some(name), Some(format)) = (&options.constraints.format, model.format) {
            let format = syn::Ident::new(format, Span::call_site());
            field
                .with
                .push(quote!(.format(__mcp::FieldFormat::#format)));
            field.add_check(name.key, "check_format", None);
        }
        if let Some(default) = &options.default {
            field.add_default(default);
        }
        field
    }

    /// Adds the range of numbers, and the checks that it suits the type.
    fn add_range(&mut self, constraints: &Constraints) {
        let range = constraints.range.as_ref();
        let above = constraints.exclusive_minimum.as_ref();
        let start = range.and_then(|range| range.value.start.as_ref());
        let end = range.and_then(|range| range.value.end.as_ref());
        let start = match (start, above) {
            (Some(start), _) => end_expression("Included", start),
            (None, Some(above)) => end_expression("Excluded", &above.value),
            (None, None) => quote!(__mcp::Unbounded),
        };
        let excludes_end = end.is_some() && range.is_some_and(|range| range.value.excludes_end);
        let end = match end {
            Some(end) if excludes_end => end_expression("Excluded", end),
            Some(end) => end_expression("Included", end),
            None => quote!(__mcp::Unbounded),
        };
        let keys = range.map(|range| range.key).into_iter();
        let keys: Vec<Span> = keys.chain(above.map(|above| above.key)).collect();
        if keys.is_empty() {
            return;
        }
        self.with.push(quote!(.range((#start, #end))));
        for key in keys {
            self.add_check(key, "check_range", None);
        }
        let open = [
            range.filter(|_| excludes_end).map(|range| range.key),
            above.map(|above| above.key),
        ];
        for key in open.into_iter().flatten() {
            self.add_check(key, "check_excluded_end", None);
        }
        let ty = self.model.parsed.ty.to_token_stream();
        self.checks.push(number_checks(&ty, constraints));
    }

    fn add_default(&mut self, default: &'a Keyed<DefaultValue>) {
        let value = match (&default.value, self.model.default) {
            (DefaultValue::Json(value, _), Some(literal)) => {
                let literal = syn::Ident::new(literal, Span::call_site());
                self.with.push(quote!(.default(#value)));
                let literal = quote!(__mcp::form::Literal::#literal);
                self.add_check(value.span(), "check_default", Some(&literal));
                return;
            }
            (DefaultValue::Json(..), None) => return,
            (DefaultValue::Rust(value), _) => value.to_token_stream(),
            (DefaultValue::OfType, _) => {
                quote_spanned!(macro_span_at(default.key)=> ::core::default::Default::default())
            }
        };
        let meta = &self.meta;
        self.with.push(quote!(.default(#meta.to_json(#value))));
    }

    /// Adds a check that applies a rule to the field's kind. If the check fails, the compiler reports the error at
    /// `span`.
    fn add_check(&mut self, span: Span, rule: &str, literal: Option<&TokenStream>) {
        // Every token is given this span, because the compiler underlines the whole expression.
        let span = macro_span_at(span);
        let (rule, literal) = (syn::Ident::new(rule, span), literal.into_iter());
        let meta = &self.meta;
        self.checks.push(quote_spanned!(span=>
            const _: () = __mcp::form::#rule(#meta.kind #(, #literal)*);
        ));
    }

    /// Returns the checks and the constant that describes the field. Only this constant has a bound on the field's
    /// type.
    fn meta_and_checks(&self) -> TokenStream {
        let (meta, ty, checks) = (&self.meta, &self.model.parsed.ty, &self.checks);
        quote!(
            const #meta: __mcp::form::FieldMeta<#ty> = __mcp::form::field::<#ty>();
            #(#checks)*
        )
    }
}

/// Returns the end of a range, as a `Bound` of the standard library.
fn end_expression(kind: &str, number: &Number) -> TokenStream {
    let kind = syn::Ident::new(kind, Span::call_site());
    let value = match number.value {
        NumberValue::Float(value) => value,
        #[allow(
            clippy::cast_precision_loss,
            reason = "JSON does not distinguish larger integers either"
        )]
        NumberValue::Integer(value) => value as f64,
    };
    quote!(__mcp::#kind(#value))
}

fn expand_choices(name: &syn::Ident, choices: &[Choice]) -> TokenStream {
    let made = choices.iter().map(|choice| {
        let value = &choice.name.value;
        match &choice.title {
            None => quote!(__mcp::Choice::from(#value)),
            Some(title) => quote!(__mcp::Choice::from((#value, #title))),
        }
    });
    let read = choices.iter().map(|choice| {
        let (value, ident) = (&choice.name.value, &choice.ident);
        quote!(#value => ::core::option::Option::Some(Self::#ident),)
    });
    let written = choices.iter().map(|choice| {
        let (value, ident) = (&choice.name.value, &choice.ident);
        quote!(Self::#ident => #value,)
    });
    quote!(
        #[automatically_derived]
        impl __mcp::FormChoice for #name {
            fn choices() -> ::std::vec::Vec<__mcp::Choice> {
                ::std::vec![#(#made),*]
            }

            fn from_choice(__mcp_value: &str) -> ::core::option::Option<Self> {
                match __mcp_value {
                    #(#read)*
                    _ => ::core::option::Option::None,
                }
            }

            fn to_choice(&self) -> &'static ::core::primitive::str {
                match self {
                    #(#written)*
                }
            }
        }

        #[automatically_derived]
        impl __mcp::FormField for #name {
            const KIND: __mcp::FieldKind = __mcp::FieldKind::One;

            fn field() -> __mcp::Field {
                __mcp::Field::one_of(<Self as __mcp::FormChoice>::choices())
            }

            fn from_value(
                __mcp_value: &__mcp::serde_json::Value,
            ) -> ::core::option::Option<Self> {
                <Self as __mcp::FormChoice>::from_choice(__mcp_value.as_str()?)
            }

            fn to_value(&self) -> __mcp::serde_json::Value {
                ::core::convert::From::from(<Self as __mcp::FormChoice>::to_choice(self))
            }
        }
    )
}
