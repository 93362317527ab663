//! Expands the constraints of a value, and the checks that they suit its type.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};

use crate::expand::tokens::macro_span_at;
use crate::expand::value::Fields;
use crate::parse::argument::Constraints;
use crate::parse::range::{Number, NumberValue, Range};
use crate::parse::value::Keyed;

/// Returns an expression of type `Constraints`, or `None` if no constraint is set.
pub(crate) fn constraints_expression(
    constraints: &Constraints,
    example: Option<&String>,
) -> Option<TokenStream> {
    let mut fields = Fields::default();
    let range = constraints.range.as_ref().map(|range| &range.value);
    let end = |number: &Option<Number>| number.as_ref().map(bound_expression);
    fields.set_some("minimum", range.and_then(|range| end(&range.start)));
    let maximum = range.and_then(|range| end(&range.end));
    let maximum_name = match range {
        Some(range) if range.excludes_end => "exclusive_maximum",
        _ => "maximum",
    };
    fields.set_some(maximum_name, maximum);
    let above = constraints.exclusive_minimum.as_ref();
    let above = above.map(|above| bound_expression(&above.value));
    fields.set_some("exclusive_minimum", above);
    let length = constraints.length.as_ref().map(|length| &length.value);
    fields.set_some("min_length", length.and_then(|length| length.min));
    fields.set_some("max_length", length.and_then(|length| length.max));
    fields.set_some("pattern", constraints.pattern.as_ref());
    fields.set_some("format", constraints.format.as_ref());
    fields.set_some("example", example);
    let items = constraints.items.as_ref();
    let items = items.and_then(|items| self::constraints_expression(&items.value, None));
    fields.set_some("items", items.map(|items| quote!(&#items)));
    (!fields.is_empty()).then(|| fields.into_expression(&quote!(__mcp::Constraints)))
}

fn bound_expression(number: &Number) -> TokenStream {
    match number.value {
        NumberValue::Integer(value) => quote!(__mcp::Bound::Integer(#value)),
        NumberValue::Float(value) => quote!(__mcp::Bound::Float(#value)),
    }
}

/// Returns a constant that fails to compile if an option is invalid for a type.
pub(crate) fn suitability_check(
    ty: &TokenStream,
    span: Span,
    check: &str,
    argument: Option<&dyn ToTokens>,
) -> TokenStream {
    // Every token is given this span, because the compiler underlines the whole expression.
    let (span, argument) = (macro_span_at(span), argument.into_iter());
    let check = Ident::new(check, span);
    quote_spanned!(span=>
        const _: () = <__mcp::Probe<#ty>>::CONSTRAINTS.#check(#(#argument)*);
    )
}

/// Returns constants that fail to compile if a constraint is invalid for a type.
pub(crate) fn constraint_checks(ty: &TokenStream, constraints: &Constraints) -> TokenStream {
    let keyed = |text: &Option<Keyed<syn::LitStr>>| text.as_ref().map(|text| text.key);
    let written = [
        (
            "check_range",
            constraints.range.as_ref().map(|range| range.key),
        ),
        (
            "check_range",
            constraints
                .exclusive_minimum
                .as_ref()
                .map(|above| above.key),
        ),
        (
            "check_length",
            constraints.length.as_ref().map(|length| length.key),
        ),
        ("check_text", keyed(&constraints.pattern)),
        ("check_text", keyed(&constraints.format)),
        (
            "check_items",
            constraints.items.as_ref().map(|items| items.key),
        ),
    ];
    let written = written
        .into_iter()
        .filter_map(|(check, key)| Some((check, key?)));
    let mut checks: TokenStream = written
        .map(|(check, key)| suitability_check(ty, key, check, None))
        .collect();
    checks.extend(number_checks(ty, constraints));
    checks
}

/// Returns constants that fail to compile if a type cannot hold the ends of its range.
pub(crate) fn number_checks(ty: &TokenStream, constraints: &Constraints) -> TokenStream {
    let range = constraints.range.as_ref().map(|range| &range.value);
    let above = constraints.exclusive_minimum.as_ref();
    let ends = [
        range.and_then(|range| range.start.clone()),
        range.and_then(Range::last),
        above.map(|above| above.value.clone()),
    ];
    let ends = ends.into_iter().flatten();
    ends.filter_map(|end| match end.value {
        NumberValue::Integer(number) => Some(suitability_check(
            ty,
            end.span,
            "check_number",
            Some(&number),
        )),
        NumberValue::Float(_) => None,
    })
    .collect()
}
