//! Parses ranges of numbers and lengths: `range(1..=100)`, `length(..=10)`.

use std::fmt;

use darling::{Error, FromMeta, Result};
use proc_macro2::Span;

use crate::parse::literal::{find_literal, find_signed_literal};
use crate::parse::value::option_name;

/// A number literal with its span.
#[derive(Clone, Debug)]
pub(crate) struct Number {
    pub(crate) span: Span,
    pub(crate) value: NumberValue,
}

/// The value of a [`Number`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum NumberValue {
    Integer(i128),
    Float(f64),
}

impl NumberValue {
    /// Returns `true` if both numbers are whole numbers or both are decimal numbers.
    pub(crate) fn is_same_kind(self, other: Self) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }

    #[allow(
        clippy::cast_precision_loss,
        reason = "compared with a number that is no more precise"
    )]
    pub(crate) fn is_less_than(self, other: Self) -> bool {
        match (self, other) {
            (Self::Integer(number), Self::Integer(other)) => number < other,
            (Self::Integer(number), Self::Float(other)) => (number as f64) < other,
            (Self::Float(number), Self::Integer(other)) => number < other as f64,
            (Self::Float(number), Self::Float(other)) => number < other,
        }
    }
}

impl fmt::Display for NumberValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => value.fmt(f),
            Self::Float(value) => fmt::Debug::fmt(value, f),
        }
    }
}

/// The `range(1..=100)` option.
#[derive(Clone, Debug)]
pub(crate) struct Range {
    pub(crate) start: Option<Number>,
    pub(crate) end: Option<Number>,
    /// `true` if the range was written with `..`.
    pub(crate) excludes_end: bool,
}

impl FromMeta for Range {
    fn from_meta(item: &syn::Meta) -> Result<Self> {
        const FORM: &str =
            "`range` takes a range of numbers: `range(1..=100)`, `range(0.5..)` or `range(..=10)`";
        let range = parse_range(item, FORM)?;
        Ok(Self {
            start: range.start.as_deref().map(parse_number).transpose()?,
            end: range.end.as_deref().map(parse_number).transpose()?,
            excludes_end: matches!(range.limits, syn::RangeLimits::HalfOpen(_)),
        })
    }
}

impl Range {
    /// Returns the largest allowed number, or `None` if there is none: the range is open, or it excludes a decimal end.
    pub(crate) fn last(&self) -> Option<Number> {
        let end = self.end.clone()?;
        match end.value {
            _ if !self.excludes_end => Some(end),
            NumberValue::Integer(value) => Some(Number {
                value: NumberValue::Integer(value.saturating_sub(1)),
                ..end
            }),
            NumberValue::Float(_) => None,
        }
    }
}

impl FromMeta for Number {
    fn from_meta(item: &syn::Meta) -> Result<Self> {
        if let syn::Meta::NameValue(pair) = item {
            return parse_number(&pair.value);
        }
        let name = option_name(item);
        Err(Error::custom(format!(
            "`{name}` takes a number: `{name} = 0.0`"
        )))
    }
}

/// The `length(1..=200)` option, or `length(5)` for an exact length.
#[derive(Clone, Debug)]
pub(crate) struct Length {
    pub(crate) min: Option<u64>,
    pub(crate) max: Option<u64>,
}

impl FromMeta for Length {
    fn from_meta(item: &syn::Meta) -> Result<Self> {
        const FORM: &str = "`length` takes a range of whole numbers: `length(1..=200)`, `length(..=10)`, or `length(5)` for exactly five";
        if let syn::Meta::List(list) = item
            && let Ok(exact) = list.parse_args::<syn::LitInt>()
        {
            let exact = exact.base10_parse()?;
            return Ok(Self {
                min: Some(exact),
                max: Some(exact),
            });
        }
        let range = parse_range(item, FORM)?;
        let end = |expression: &syn::Expr| match find_literal(expression) {
            Some(syn::Lit::Int(value)) => Ok(value.base10_parse::<u64>()?),
            _ => Err(Error::custom(FORM).with_span(expression)),
        };
        let min = range.start.as_deref().map(end).transpose()?;
        let mut max = range.end.as_deref().map(end).transpose()?;
        if matches!(range.limits, syn::RangeLimits::HalfOpen(_)) {
            max = max.map(|max| max.saturating_sub(1));
        }
        Ok(Self { min, max })
    }
}

fn parse_range(item: &syn::Meta, form: &str) -> Result<syn::ExprRange> {
    let expression = match item {
        syn::Meta::List(list) => list.parse_args::<syn::Expr>(),
        syn::Meta::NameValue(pair) => Ok(pair.value.clone()),
        syn::Meta::Path(path) => return Err(Error::custom(form).with_span(path)),
    };
    match expression {
        Ok(syn::Expr::Range(range)) if range.start.is_some() || range.end.is_some() => Ok(range),
        Ok(other) => Err(Error::custom(form).with_span(&other)),
        Err(error) => Err(Error::custom(form).with_span(&error.span())),
    }
}

/// Parses a number literal, which may be negative.
pub(crate) fn parse_number(expression: &syn::Expr) -> Result<Number> {
    let number = |literal: &syn::Lit, value| Number {
        span: literal.span(),
        value,
    };
    match find_signed_literal(expression) {
        Some((negative, literal @ syn::Lit::Int(value))) => {
            let value: i128 = value.base10_parse()?;
            let value = if negative { -value } else { value };
            Ok(number(literal, NumberValue::Integer(value)))
        }
        Some((negative, literal @ syn::Lit::Float(value))) => {
            let value: f64 = value.base10_parse()?;
            let value = if negative { -value } else { value };
            Ok(number(literal, NumberValue::Float(value)))
        }
        _ => Err(Error::custom(
            "a limit must be written as a number, such as `5` or `0.5`; neither a string nor a constant",
        )
        .with_span(expression)),
    }
}
