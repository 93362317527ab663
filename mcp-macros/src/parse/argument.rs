//! The attributes of a parameter: `#[arg(…)]` and `#[complete(…)]`.

use std::fmt;

use darling::util::Flag;
use darling::{Error, FromAttributes, FromMeta, Result};
use proc_macro2::Span;
use syn::spanned::Spanned;

use crate::parse::value::{Expression, Keyed, keyed_text, needs_value, text};

/// The options of `#[arg(…)]`.
#[derive(Default, FromAttributes)]
#[darling(attributes(arg))]
pub(crate) struct ArgumentOptions {
    /// The description, instead of the doc comment.
    pub(crate) description: Option<Expression>,
    /// The name on the wire. Default: the parameter's name.
    #[darling(with = text)]
    pub(crate) name: Option<syn::LitStr>,
    /// The value if the client omits the argument: a literal is JSON, anything else is Rust.
    pub(crate) default: Option<Keyed<DefaultOption>>,
    /// The allowed numbers.
    pub(crate) range: Option<Keyed<Range>>,
    /// The allowed number of characters or items.
    pub(crate) length: Option<Keyed<Length>>,
    /// A regular expression that must match somewhere in the string.
    #[darling(with = keyed_text)]
    pub(crate) pattern: Option<Keyed<syn::LitStr>>,
    /// The `format` keyword.
    #[darling(with = keyed_text)]
    pub(crate) format: Option<Keyed<syn::LitStr>>,
    /// The constraints of each item of an array.
    pub(crate) items: Option<Keyed<ItemOptions>>,
    /// A sample value.
    pub(crate) example: Option<Expression>,
    /// The HTTP header that mirrors the argument.
    #[darling(with = text)]
    pub(crate) header: Option<syn::LitStr>,
    /// The parameter takes the whole argument object.
    pub(crate) flatten: Flag,
    /// The parameter, a variable of a template, accepts values that lead out of a directory.
    pub(crate) any_path: Flag,
}

/// The options of `items(…)`.
#[derive(Default, FromMeta)]
pub(crate) struct ItemOptions {
    /// The allowed numbers.
    pub(crate) range: Option<Keyed<Range>>,
    /// The allowed number of characters or items.
    pub(crate) length: Option<Keyed<Length>>,
    /// A regular expression that must match somewhere in the string.
    #[darling(with = keyed_text)]
    pub(crate) pattern: Option<Keyed<syn::LitStr>>,
    /// The `format` keyword.
    #[darling(with = keyed_text)]
    pub(crate) format: Option<Keyed<syn::LitStr>>,
    /// The constraints of each item of an inner array.
    pub(crate) items: Option<Keyed<Box<ItemOptions>>>,
}

/// `default`, or `default = value`.
#[derive(Clone, Debug)]
pub(crate) enum DefaultOption {
    /// The value of the type's `Default`.
    OfType,
    /// This value.
    Value(syn::Expr),
}

impl FromMeta for DefaultOption {
    fn from_meta(item: &syn::Meta) -> Result<Self> {
        match item {
            syn::Meta::Path(_) => Ok(Self::OfType),
            syn::Meta::NameValue(pair) => Ok(Self::Value(pair.value.clone())),
            syn::Meta::List(_) => Err(needs_value(item)),
        }
    }
}

/// A number literal in a range, with its span.
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

/// `range(1..=100)`: both ends are inclusive here.
#[derive(Clone, Debug)]
pub(crate) struct Range {
    pub(crate) start: Option<Number>,
    pub(crate) end: Option<Number>,
}

impl FromMeta for Range {
    fn from_meta(item: &syn::Meta) -> Result<Self> {
        const FORM: &str =
            "`range` takes a range of numbers: `range(1..=100)`, `range(0.5..)` or `range(..=10)`";
        let range = parse_range(item, FORM)?;
        let start = range.start.as_deref().map(parse_number).transpose()?;
        let mut end = range.end.as_deref().map(parse_number).transpose()?;
        if matches!(range.limits, syn::RangeLimits::HalfOpen(_))
            && let Some(end) = &mut end
        {
            match &mut end.value {
                NumberValue::Integer(value) => *value = value.saturating_sub(1),
                NumberValue::Float(_) => {
                    return Err(
                        Error::custom("a decimal range must include its end; write `..=`")
                            .with_span(&range.limits),
                    );
                }
            }
        }
        Ok(Self { start, end })
    }
}

/// `length(1..=200)`, or `length(5)` for exactly that.
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
        let end = |expression: Option<&syn::Expr>| match expression {
            None => Ok(None),
            Some(syn::Expr::Lit(syn::ExprLit {
                lit: syn::Lit::Int(value),
                ..
            })) => Ok(Some(value.base10_parse::<u64>()?)),
            Some(other) => Err(Error::custom(FORM).with_span(other)),
        };
        let min = end(range.start.as_deref())?;
        let mut max = end(range.end.as_deref())?;
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

/// Reads a number literal, optionally negative.
pub(crate) fn parse_number(expression: &syn::Expr) -> Result<Number> {
    let (negative, literal) = match expression {
        syn::Expr::Unary(syn::ExprUnary {
            op: syn::UnOp::Neg(_),
            expr,
            ..
        }) => (true, &**expr),
        other => (false, other),
    };
    let value = match literal {
        syn::Expr::Lit(syn::ExprLit {
            lit: syn::Lit::Int(value),
            ..
        }) => {
            let value: i128 = value.base10_parse()?;
            NumberValue::Integer(if negative { -value } else { value })
        }
        syn::Expr::Lit(syn::ExprLit {
            lit: syn::Lit::Float(value),
            ..
        }) => {
            let value: f64 = value.base10_parse()?;
            NumberValue::Float(if negative { -value } else { value })
        }
        other => {
            return Err(
                Error::custom("the ends of a range must be number literals").with_span(other)
            );
        }
    };
    Ok(Number {
        span: literal.span(),
        value,
    })
}

/// The source of an argument's completion candidates.
pub(crate) enum Complete {
    /// The completer at this path.
    Function(syn::Path),
    /// These strings.
    Candidates(Vec<syn::LitStr>),
}

impl syn::parse::Parse for Complete {
    fn parse(input: syn::parse::ParseStream<'_>) -> syn::Result<Self> {
        const FORM: &str = "`complete` takes the path of a function, or a list of strings: `#[complete(languages)]` or `#[complete([\"rust\", \"go\"])]`";
        if !input.peek(syn::token::Bracket) {
            let function = input.parse().map(Self::Function);
            return function.map_err(|error| syn::Error::new(error.span(), FORM));
        }
        let list;
        syn::bracketed!(list in input);
        let text = |input: syn::parse::ParseStream<'_>| {
            let text = input.parse::<syn::LitStr>();
            text.map_err(|error| {
                syn::Error::new(error.span(), "a candidate must be a string literal")
            })
        };
        let texts = list.parse_terminated(text, syn::Token![,])?;
        Ok(Self::Candidates(texts.into_iter().collect()))
    }
}

/// Reads `#[complete(…)]`, if it is among these attributes.
pub(crate) fn parse_complete(
    attributes: &[syn::Attribute],
) -> syn::Result<Option<Keyed<Complete>>> {
    let mut found = None;
    for attribute in attributes {
        if !attribute.path().is_ident("complete") {
            continue;
        }
        if found.is_some() {
            return Err(syn::Error::new_spanned(
                attribute.path(),
                "`complete` is given twice; keep one",
            ));
        }
        let value = attribute.parse_args()?;
        found = Some(Keyed {
            key: attribute.path().span(),
            value,
        });
    }
    Ok(found)
}
