//! `#[derive(Elicit)]`: forms from structs, choices from enums.
//!
//! Each field has a separate constant, which is the only place with the bound on its type. A type that cannot be in a form is
//! therefore one error, with the caret on the type.

use darling::FromAttributes;
use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;

use crate::expand::handler::runtime;
use crate::expand::tokens::{at, option};
use crate::model::Errors;
use crate::parse::argument::{Length, Number, NumberValue, Range};
use crate::parse::doc_comment;
use crate::parse::elicit::{ChoiceOptions, FieldOptions, FormOptions};
use crate::parse::value::{Expression, Keyed, PathValue};

/// Expands `#[derive(Elicit)]`.
pub(crate) fn elicit(item: TokenStream) -> TokenStream {
    let expanded = syn::parse2(item).and_then(|item| expand(&item));
    expanded.unwrap_or_else(syn::Error::into_compile_error)
}

fn expand(item: &syn::DeriveInput) -> syn::Result<TokenStream> {
    let mut errors = Errors::default();
    let options = FormOptions::from_attributes(&item.attrs).map_err(syn::Error::from);
    let options = errors.take(options).unwrap_or_default();
    if !item.generics.params.is_empty() {
        errors.push(syn::Error::new_spanned(
            &item.generics,
            "a form cannot be generic, because its fields are known when the server is built; name the types",
        ));
    }
    let body = match &item.data {
        syn::Data::Struct(data) => form(&item.ident, &data.fields, &mut errors),
        syn::Data::Enum(data) => choices(&item.ident, data, &mut errors),
        syn::Data::Union(data) => {
            let error = syn::Error::new(
                data.union_token.span(),
                "`#[derive(Elicit)]` belongs on a struct or an enum",
            );
            errors.push(error);
            TokenStream::new()
        }
    };
    errors.finish()?;
    let runtime = runtime(options.runtime.as_ref().map(|PathValue(path)| path));
    Ok(quote!(
        const _: () = {
            use #runtime::__private as __mcp;
            #body
        };
    ))
}

fn form(name: &syn::Ident, fields: &syn::Fields, errors: &mut Errors) -> TokenStream {
    if let syn::Fields::Unnamed(fields) = fields {
        errors.push(syn::Error::new_spanned(
            fields,
            "the fields of a form need names, because they become JSON properties",
        ));
        return TokenStream::new();
    }
    let fields: Vec<Field> = fields
        .iter()
        .enumerate()
        .filter_map(|(index, field)| Field::new(index, field, errors))
        .collect();
    let mut seen: Vec<&str> = Vec::new();
    for field in &fields {
        if seen.contains(&field.name.as_str()) {
            let text = format!("field name `{}` is used twice", field.name);
            errors.push(syn::Error::new(field.span, text));
        }
        seen.push(&field.name);
    }
    let descriptions = fields.iter().map(Field::describe);
    let adds = fields.iter().map(|field| {
        let (meta, name, with) = (&field.meta, &field.name, &field.with);
        quote!(let __mcp_form = #meta.add(__mcp_form, #name, |__mcp_field| __mcp_field #(#with)*);)
    });
    let takes = fields.iter().map(|field| {
        let (meta, name, ident) = (&field.meta, &field.name, &field.ident);
        quote!(#ident: #meta.take(__mcp_answer, #name)?,)
    });
    let puts = fields.iter().map(|field| {
        let (meta, name, ident) = (&field.meta, &field.name, &field.ident);
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

/// A field of a form.
struct Field {
    span: Span,
    ident: syn::Ident,
    /// The name on the wire.
    name: String,
    ty: syn::Type,
    /// The name of the constant that describes the field.
    meta: syn::Ident,
    /// The options, as method calls on a `Field`.
    with: Vec<TokenStream>,
    /// The checks that the options suit the type.
    checks: Vec<TokenStream>,
}

impl Field {
    fn new(index: usize, field: &syn::Field, errors: &mut Errors) -> Option<Self> {
        let options = FieldOptions::from_attributes(&field.attrs).map_err(syn::Error::from);
        let options = errors.take(options)?;
        let ident = field.ident.clone()?;
        let name = options.name.as_ref().map(syn::LitStr::value);
        let name = name.unwrap_or_else(|| ident.unraw().to_string());
        let mut made = Self {
            span: ident.span(),
            name,
            ty: field.ty.clone(),
            meta: format_ident!("__MCP_FIELD_{index}"),
            with: Vec::new(),
            checks: Vec::new(),
            ident,
        };
        if let Some(Expression(title)) = &options.title {
            made.with.push(quote!(.title(#title)));
        }
        let description = match &options.description {
            Some(Expression(text)) => Some(quote!(#text)),
            None => doc_comment::from_attributes(&field.attrs),
        };
        if let Some(text) = description {
            made.with.push(quote!(.description(#text)));
        }
        if let Some(Keyed { key, value }) = &options.range {
            let Range { start, end } = value;
            let least = bound(start.as_ref(), &quote!(::core::f64::NEG_INFINITY));
            let most = bound(end.as_ref(), &quote!(::core::f64::INFINITY));
            made.with.push(quote!(.range(#least, #most)));
            made.check(*key, &quote!(range_problem), None);
        }
        if let Some(Keyed { key, value }) = &options.length {
            let Length { min, max } = value;
            let (min, max) = (size(*min), size(*max));
            made.with.push(quote!(.length(#min, #max)));
            made.check(*key, &quote!(length_problem), None);
        }
        if let Some(Keyed { key, value }) = &options.format {
            let format = match value.value().as_str() {
                "email" => Some(quote!(Email)),
                "uri" => Some(quote!(Uri)),
                "date" => Some(quote!(Date)),
                "date-time" => Some(quote!(DateTime)),
                other => {
                    let text = format!(
                        "unknown format `{other}`; write `email`, `uri`, `date` or `date-time`"
                    );
                    errors.push(syn::Error::new(value.span(), text));
                    None
                }
            };
            made.with
                .extend(format.map(|format| quote!(.format(__mcp::Format::#format))));
            made.check(*key, &quote!(format_problem), None);
        }
        if let Some(Keyed {
            value: Expression(value),
            ..
        }) = &options.default
        {
            match literal(value) {
                Some(kind) => {
                    made.with.push(quote!(.default(#value)));
                    let literal = quote!(__mcp::form::Literal::#kind);
                    made.check(value.span(), &quote!(default_problem), Some(&literal));
                }
                None => errors.push(syn::Error::new_spanned(
                    value,
                    "the default of a field must be a literal: a string, a number, `true` or `false`",
                )),
            }
        }
        Some(made)
    }

    /// Adds a check of a rule on the kind of the field; if it fails, the caret is at `place`.
    fn check(&mut self, place: Span, rule: &TokenStream, literal: Option<&TokenStream>) {
        let (meta, literal) = (&self.meta, literal.into_iter());
        let problem = quote!(__mcp::form::#rule(#meta.kind #(, #literal)*));
        let span = at(place);
        self.checks.push(quote_spanned!(span=>
            const _: () = {
                const __MCP_PROBLEM: &::core::primitive::str = #problem;
                ::core::assert!(__MCP_PROBLEM.is_empty(), "{}", __MCP_PROBLEM);
            };
        ));
    }

    /// Returns the constant that describes the field, the only place with the bound on its type, and the checks.
    fn describe(&self) -> TokenStream {
        let (meta, ty, checks) = (&self.meta, &self.ty, &self.checks);
        quote!(
            const #meta: __mcp::form::FieldMeta<#ty> = __mcp::form::field::<#ty>();
            #(#checks)*
        )
    }
}

/// Returns the kind of a literal, or of a negative number.
fn literal(value: &syn::Expr) -> Option<syn::Ident> {
    let literal = match value {
        syn::Expr::Unary(syn::ExprUnary {
            op: syn::UnOp::Neg(_),
            expr,
            ..
        }) => match &**expr {
            syn::Expr::Lit(literal)
                if matches!(literal.lit, syn::Lit::Int(_) | syn::Lit::Float(_)) =>
            {
                &literal.lit
            }
            _ => return None,
        },
        syn::Expr::Lit(literal) => &literal.lit,
        _ => return None,
    };
    let kind = match literal {
        syn::Lit::Str(_) => "Text",
        syn::Lit::Int(_) | syn::Lit::Float(_) => "Number",
        syn::Lit::Bool(_) => "Boolean",
        _ => return None,
    };
    Some(syn::Ident::new(kind, Span::call_site()))
}

fn bound(number: Option<&Number>, none: &TokenStream) -> TokenStream {
    match number.map(|number| number.value) {
        None => none.clone(),
        Some(NumberValue::Float(value)) => quote!(#value),
        Some(NumberValue::Integer(value)) => {
            #[allow(
                clippy::cast_precision_loss,
                reason = "JSON does not distinguish larger integers either"
            )]
            let value = value as f64;
            quote!(#value)
        }
    }
}

fn size(size: Option<u64>) -> TokenStream {
    option(size.map(|size| quote!(#size)))
}

fn choices(name: &syn::Ident, data: &syn::DataEnum, errors: &mut Errors) -> TokenStream {
    if data.variants.is_empty() {
        let text = "a choice needs at least one variant";
        errors.push(syn::Error::new_spanned(name, text));
    }
    let (mut made, mut read, mut written) = (Vec::new(), Vec::new(), Vec::new());
    for variant in &data.variants {
        if !matches!(variant.fields, syn::Fields::Unit) {
            errors.push(syn::Error::new_spanned(
                &variant.fields,
                "a choice cannot hold data, because forms are flat; remove the fields",
            ));
        }
        let options = ChoiceOptions::from_attributes(&variant.attrs).map_err(syn::Error::from);
        let Some(options) = errors.take(options) else {
            continue;
        };
        let ident = &variant.ident;
        let value = options
            .name
            .map_or_else(|| ident.unraw().to_string(), |name| name.value());
        let title = options.title.map(|Expression(title)| quote!(#title));
        let title = title.or_else(|| doc_comment::from_attributes(&variant.attrs));
        made.push(title.map_or_else(
            || quote!(__mcp::Choice::from(#value)),
            |title| quote!(__mcp::Choice::from((#value, #title))),
        ));
        read.push(quote!(#value => ::core::option::Option::Some(Self::#ident),));
        written.push(quote!(Self::#ident => #value,));
    }
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
