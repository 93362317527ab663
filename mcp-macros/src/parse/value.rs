//! Parses option values used by several attributes.

use darling::ast::NestedMeta;
use darling::{Error, FromMeta, Result};
use proc_macro2::Span;
use quote::ToTokens;
use syn::spanned::Spanned;

use crate::parse::choice::parse_word;
use crate::parse::literal::find_literal;

/// A value with the span of its key, which is used to report errors about the option.
#[derive(Clone, Debug)]
pub(crate) struct Keyed<T> {
    pub(crate) key: Span,
    pub(crate) value: T,
}

impl<T: FromMeta> FromMeta for Keyed<T> {
    fn from_meta(item: &syn::Meta) -> Result<Self> {
        Ok(Self {
            key: item.path().span(),
            value: T::from_meta(item).map_err(|error| error.with_span(item))?,
        })
    }
}

/// Parses a string literal.
pub(crate) fn text(item: &syn::Meta) -> Result<Option<syn::LitStr>> {
    let literal = match item {
        syn::Meta::NameValue(pair) => find_literal(&pair.value),
        _ => return Err(needs_text_error(item).with_span(item.path())),
    };
    match literal {
        Some(syn::Lit::Str(text)) => Ok(Some(text.clone())),
        _ => Err(match item {
            syn::Meta::NameValue(pair) => needs_text_error(item).with_span(&pair.value),
            _ => needs_text_error(item).with_span(item),
        }),
    }
}

/// Parses a string literal and keeps the span of its key.
pub(crate) fn keyed_text(item: &syn::Meta) -> Result<Option<Keyed<syn::LitStr>>> {
    Ok(text(item)?.map(|value| Keyed {
        key: item.path().span(),
        value,
    }))
}

/// Parses a flag, written as `read_only` or `read_only = false`.
pub(crate) fn flag(item: &syn::Meta) -> Result<Option<Keyed<bool>>> {
    let value = match item {
        syn::Meta::Path(_) => Some(true),
        syn::Meta::NameValue(pair) => match find_literal(&pair.value) {
            Some(syn::Lit::Bool(value)) => Some(value.value),
            _ => None,
        },
        syn::Meta::List(_) => None,
    };
    let key = item.path().span();
    if let Some(value) = value {
        return Ok(Some(Keyed { key, value }));
    }
    let name = option_name(item);
    let error = Error::custom(format!(
        "`{name}` is a flag; write `{name}` or `{name} = false`"
    ));
    Err(match item {
        syn::Meta::NameValue(pair) => error.with_span(&pair.value),
        _ => error.with_span(item.path()),
    })
}

fn needs_text_error(item: &syn::Meta) -> Error {
    let name = option_name(item);
    Error::custom(format!("`{name}` takes a string: `{name} = \"…\"`"))
}

/// Returns the name of an option.
pub(crate) fn option_name(item: &syn::Meta) -> String {
    item.path()
        .get_ident()
        .map(ToString::to_string)
        .unwrap_or_default()
}

/// A Rust expression, kept unchanged. Unlike in darling, a string literal is a string, not a quoted expression.
#[derive(Clone, Debug)]
pub(crate) struct Expression(pub(crate) syn::Expr);

impl FromMeta for Expression {
    fn from_meta(item: &syn::Meta) -> Result<Self> {
        match item {
            syn::Meta::NameValue(pair) => Ok(Self(pair.value.clone())),
            _ => Err(needs_value_error(item)),
        }
    }
}

/// The path to a function or crate.
#[derive(Clone, Debug)]
pub(crate) struct PathValue(pub(crate) syn::Path);

impl FromMeta for PathValue {
    fn from_meta(item: &syn::Meta) -> Result<Self> {
        let Expression(value) = Expression::from_meta(item)?;
        match value {
            syn::Expr::Path(path) if path.qself.is_none() => Ok(Self(path.path)),
            other => {
                let name = option_name(item);
                let message = format!(
                    "`{name}` takes a path, neither a string nor a closure: `{name} = some::path`"
                );
                Err(Error::custom(message).with_span(&other))
            }
        }
    }
}

/// A duration: `"250ms"`, `"5s"`, `"2m"`, `"1h"`, or an expression of type `Duration`.
#[derive(Clone, Debug)]
pub(crate) enum DurationValue {
    Milliseconds(u64),
    Expression(syn::Expr),
}

impl FromMeta for DurationValue {
    fn from_meta(item: &syn::Meta) -> Result<Self> {
        let Expression(value) = Expression::from_meta(item)?;
        match find_literal(&value) {
            Some(syn::Lit::Str(text)) => match parse_milliseconds(&text.value()) {
                Some(milliseconds) => Ok(Self::Milliseconds(milliseconds)),
                None => Err(Error::custom(format!(
                    "`{}` is not a duration; write a whole number and a unit: `250ms`, `5s`, `2m` or `1h`",
                    text.value()
                ))
                .with_span(text)),
            },
            Some(_) => Err(Error::custom(
                "a duration needs a unit: `\"250ms\"`, `\"5s\"`, `\"2m\"` or `\"1h\"`",
            )
            .with_span(&value)),
            None => Ok(Self::Expression(value)),
        }
    }
}

fn parse_milliseconds(text: &str) -> Option<u64> {
    parse_quantity(
        text,
        &[("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)],
    )
}

/// Parses a whole number followed by one of the units; returns `None` if the text has a different form or the product
/// overflows.
pub(crate) fn parse_quantity(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let (_, size) = units.iter().find(|(name, _)| *name == unit.trim_start())?;
    number.parse::<u64>().ok()?.checked_mul(*size)
}

/// The scope in which a result may be cached: `"public"` or `"private"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CacheScopeValue {
    Public,
    Private,
}

impl FromMeta for CacheScopeValue {
    fn from_value(value: &syn::Lit) -> Result<Self> {
        let words = [("public", Self::Public), ("private", Self::Private)];
        parse_word("cache", value, &words)
    }
}

/// The `icons = ["https://…", icon(src = "…", mime_type = "…", sizes = "48x48 96x96", theme = "dark")]` option.
/// Brackets are not needed for a single icon.
#[derive(Clone, Debug)]
pub(crate) struct Icons(pub(crate) Vec<Icon>);

/// An icon.
#[derive(Clone, Debug)]
pub(crate) struct Icon {
    pub(crate) src: syn::LitStr,
    pub(crate) options: IconOptions,
}

/// Options in `icon(…)`.
#[derive(Clone, Debug, Default, FromMeta)]
pub(crate) struct IconOptions {
    /// The URI of the image.
    #[darling(with = text)]
    src: Option<syn::LitStr>,
    /// The media type of the image.
    #[darling(with = text)]
    pub(crate) mime_type: Option<syn::LitStr>,
    /// The sizes at which the icon can be shown, separated by spaces.
    #[darling(with = text)]
    pub(crate) sizes: Option<syn::LitStr>,
    /// The background for which the icon is designed.
    pub(crate) theme: Option<Theme>,
}

/// The background for which an icon is designed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Theme {
    Light,
    Dark,
}

impl FromMeta for Theme {
    fn from_value(value: &syn::Lit) -> Result<Self> {
        let words = [("light", Self::Light), ("dark", Self::Dark)];
        parse_word("theme", value, &words)
    }
}

const ICON_FORM: &str = "an icon must be `\"https://…\"` or `icon(src = \"https://…\", mime_type = \"image/png\", \
                         sizes = \"48x48\", theme = \"dark\")`";

impl FromMeta for Icons {
    fn from_meta(item: &syn::Meta) -> Result<Self> {
        let Expression(value) = Expression::from_meta(item)?;
        let icons = match &value {
            syn::Expr::Array(array) => array.elems.iter().collect(),
            other => vec![other],
        };
        if icons.is_empty() {
            return Err(
                Error::custom("`icons` is empty; add an icon or remove the option")
                    .with_span(&value),
            );
        }
        let mut errors = Error::accumulator();
        let icons = icons
            .into_iter()
            .filter_map(|icon| errors.handle(parse_icon(icon)))
            .collect();
        errors.finish_with(Self(icons))
    }
}

fn parse_icon(expression: &syn::Expr) -> Result<Icon> {
    if let Some(syn::Lit::Str(src)) = find_literal(expression) {
        return Ok(Icon {
            src: src.clone(),
            options: IconOptions::default(),
        });
    }
    match expression {
        syn::Expr::Call(call) if is_word(&call.func, "icon") => {
            let options = NestedMeta::parse_meta_list(call.args.to_token_stream())?;
            let options = IconOptions::from_list(&options)?;
            match &options.src {
                Some(src) => Ok(Icon {
                    src: src.clone(),
                    options,
                }),
                None => Err(Error::custom(ICON_FORM).with_span(&call.func)),
            }
        }
        other => Err(Error::custom(ICON_FORM).with_span(other)),
    }
}

fn is_word(expression: &syn::Expr, word: &str) -> bool {
    matches!(expression, syn::Expr::Path(path) if path.path.is_ident(word))
}

/// Returns the error for a key without a value.
pub(crate) fn needs_value_error(item: &syn::Meta) -> Error {
    let name = option_name(item);
    Error::custom(format!("`{name}` needs a value: `{name} = …`")).with_span(item.path())
}

#[cfg(test)]
mod tests {
    use super::parse_milliseconds;

    #[test]
    fn a_span_of_time_is_a_whole_number_and_a_unit() {
        let cases = [
            ("250ms", Some(250)),
            ("5s", Some(5_000)),
            ("2 m", Some(120_000)),
            ("1h", Some(3_600_000)),
            ("5", None),
            ("s", None),
            ("1.5s", None),
            ("-1s", None),
            ("5 sec", None),
            ("18446744073709551615h", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_milliseconds(text), expected, "{text}");
        }
    }
}
