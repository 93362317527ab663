//! `#[data]`: derives the traits that an argument or result needs, using the runtime's re-exports.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::parse_quote;

use crate::expand::constraints::{constraint_checks, constraints_expression};
use crate::expand::tokens::{macro_span_at, option_expression, runtime_path};
use crate::model::data::{Data, Direction};
use crate::model::data_field::DataField;
use crate::parse::argument::DefaultValue;
use crate::parse::data::plain_field_types;
use crate::parse::data_field::fields_mut;

/// Returns the type with the derive attributes added, and a check that reports how to fix any unsuitable field types.
pub(crate) fn expand_data(data: &Data) -> TokenStream {
    let runtime = runtime_path(data.runtime.as_ref());
    let serialize =
        (data.direction != Direction::Input).then(|| quote!(#runtime::serde::Serialize,));
    let deserialize =
        (data.direction != Direction::Output).then(|| quote!(#runtime::serde::Deserialize,));
    let serde = path_text(&quote!(#runtime::serde));
    let schemars = path_text(&quote!(#runtime::schemars));
    let closed = data.closed.then(|| quote!(, deny_unknown_fields));
    let ty = &data.ty;
    // The check comes first so that its error is reported first.
    let fields = plain_field_types(ty);
    let fields = (!fields.is_empty()).then(|| {
        quote!(const _: () = {
            use #runtime::__private as __mcp;
            use __mcp::ProbeFallback as _;
            #(__mcp::data_field(<__mcp::Probe<#fields>>::json_schema).check::<#fields>();)*
        };)
    });
    let display = data.display.then(|| expand_display(ty, &runtime));
    let checks = option_checks(&data.fields, &runtime);
    let defaults = expand_defaults(data, &runtime);
    let ty = with_options(data, &runtime);
    quote!(
        #fields
        #display
        #checks
        #defaults
        #[derive(#serialize #deserialize #runtime::schemars::JsonSchema)]
        #[serde(crate = #serde #closed)]
        #[schemars(crate = #schemars)]
        #ty
    )
}

/// Returns the checks that the options of fields suit the fields' types.
fn option_checks(fields: &[DataField], runtime: &TokenStream) -> Option<TokenStream> {
    let known = fields.iter().filter(|field| field.has_known_type);
    let checks: TokenStream = known
        .map(|field| constraint_checks(&field.ty.to_token_stream(), &field.options.constraints))
        .collect();
    (!checks.is_empty()).then(|| {
        quote!(const _: () = {
            use #runtime::__private as __mcp;
            use __mcp::ProbeFallback as _;
            #checks
        };)
    })
}

/// Returns functions that create the defaults of fields, for serde.
fn expand_defaults(data: &Data, runtime: &TokenStream) -> Option<TokenStream> {
    let functions: Vec<TokenStream> = data
        .fields
        .iter()
        .filter_map(|field| {
            let default = field.options.default.as_ref()?;
            let value = match &default.value {
                DefaultValue::Json(_, json) => quote!(#runtime::__private::read_default(#json)),
                DefaultValue::OfType => {
                    quote_spanned!(macro_span_at(default.key)=> ::core::default::Default::default())
                }
                DefaultValue::Rust(expression) => expression.to_token_stream(),
            };
            let (function, ty) = (default_function_name(field), &field.ty);
            Some(quote!(#[doc(hidden)] fn #function() -> #ty { #value }))
        })
        .collect();
    let name = &data.ty.ident;
    let (impl_generics, type_generics, bounds) = data.ty.generics.split_for_impl();
    (!functions.is_empty()).then(|| {
        quote!(
            #[automatically_derived]
            impl #impl_generics #name #type_generics #bounds { #(#functions)* }
        )
    })
}

fn default_function_name(field: &DataField) -> Ident {
    format_ident!("__mcp_default_{}", field.position)
}

/// Returns the type, whose fields have their options as attributes of serde and schemars.
fn with_options(data: &Data, runtime: &TokenStream) -> syn::DeriveInput {
    let mut ty = data.ty.clone();
    let name = &data.ty.ident;
    let (_, type_generics, _) = data.ty.generics.split_for_impl();
    let owner = type_generics.as_turbofish();
    let owner = quote!(#name #owner);
    let mut fields: Vec<_> = fields_mut(&mut ty).into_iter().map(Some).collect();
    for field in &data.fields {
        let Some(described) = fields.get_mut(field.position).and_then(Option::take) else {
            continue;
        };
        let options = &field.options;
        let function = default_function_name(field);
        if let Some(name) = &options.name {
            described.attrs.push(parse_quote!(#[serde(rename = #name)]));
        }
        if let Some(description) = &options.description {
            let attribute = parse_quote!(#[schemars(description = #description)]);
            described.attrs.push(attribute);
        }
        if options.default.is_some() {
            let path = path_text(&quote!(#owner::#function));
            described
                .attrs
                .push(parse_quote!(#[serde(default = #path)]));
        }
        let default = options.default.as_ref();
        let default = default.and_then(|default| match &default.value {
            DefaultValue::Json(_, json) => {
                let ty = &field.ty;
                Some(quote!(__mcp::literal_default::<#ty>(#json)))
            }
            // Whether a type parameter can be written is known only to schemars, which then adds the default.
            DefaultValue::OfType | DefaultValue::Rust(_) => {
                let is_generic = !data.ty.generics.params.is_empty();
                (!is_generic).then(|| quote!(__mcp::written_default(&#owner::#function())))
            }
        });
        let constraints = constraints_expression(&options.constraints, field.example.as_ref());
        if default.is_some() || constraints.is_some() {
            let default = option_expression(default);
            let constraints = constraints.unwrap_or_else(|| quote!(__mcp::Constraints::NONE));
            described.attrs.push(parse_quote!(
                #[schemars(transform = |__mcp_schema: &mut #runtime::schemars::Schema| {
                    use #runtime::__private as __mcp;
                    __mcp::constrain_field(__mcp_schema, &#constraints, #default);
                })]
            ));
        }
    }
    ty
}

/// Returns an implementation of `Display` that prints serde's name for the variant.
fn expand_display(ty: &syn::DeriveInput, runtime: &TokenStream) -> TokenStream {
    let name = &ty.ident;
    let (impl_generics, type_generics, bounds) = ty.generics.split_for_impl();
    quote!(
        #[automatically_derived]
        impl #impl_generics ::core::fmt::Display for #name #type_generics #bounds {
            fn fmt(&self, __mcp_f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                #runtime::serde::Serialize::serialize(self, __mcp_f)
            }
        }
    )
}

/// Formats a path as a string without spaces, as the `crate` attributes of serde and schemars expect.
fn path_text(path: &TokenStream) -> String {
    path.to_token_stream().to_string().replace(' ', "")
}
