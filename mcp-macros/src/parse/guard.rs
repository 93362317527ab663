//! Options that limit a handler's time, rate, concurrency and output. All handler attributes accept the same options.

use darling::{Error, FromMeta, Result};

use crate::parse::literal::find_literal;
use crate::parse::value::{DurationValue, Expression, option_name, parse_quantity, text};

/// Limits on a handler.
#[derive(Default, FromMeta)]
pub(crate) struct GuardOptions {
    /// Time limit for a call.
    pub(crate) timeout: Option<DurationValue>,
    /// Maximum rate of calls.
    #[darling(with = text)]
    pub(crate) rate: Option<syn::LitStr>,
    /// Maximum number of concurrent calls.
    pub(crate) concurrency: Option<PositiveCount>,
    /// Maximum size of a result.
    pub(crate) max_output: Option<ByteSize>,
}

/// A whole number greater than zero, or an expression.
#[derive(Clone, Debug)]
pub(crate) struct PositiveCount(pub(crate) syn::Expr);

impl FromMeta for PositiveCount {
    fn from_meta(item: &syn::Meta) -> Result<Self> {
        let Expression(value) = Expression::from_meta(item)?;
        let is_wrong = match find_literal(&value) {
            Some(syn::Lit::Int(number)) => {
                number.base10_parse().is_ok_and(|number: u64| number == 0)
            }
            Some(_) => true,
            None => matches!(value, syn::Expr::Unary(_)),
        };
        if is_wrong {
            let option = option_name(item);
            let message = format!("`{option}` must be a whole number above zero: `{option} = 4`");
            return Err(Error::custom(message).with_span(&value));
        }
        Ok(Self(value))
    }
}

/// A number of bytes: `"512B"`, `"256KB"`, `"64KiB"`, `"1MB"`, `"1MiB"`; a number of tokens: `"500 tokens"`,
/// `"6k tokens"`; or an expression of type `usize`.
#[derive(Clone, Debug)]
pub(crate) enum ByteSize {
    Bytes(usize),
    Expression(syn::Expr),
}

impl FromMeta for ByteSize {
    fn from_meta(item: &syn::Meta) -> Result<Self> {
        let Expression(value) = Expression::from_meta(item)?;
        match find_literal(&value) {
            Some(syn::Lit::Str(text)) => match parse_size(&text.value()) {
                Some(bytes) => Ok(Self::Bytes(bytes)),
                None => Err(Error::custom(format!(
                    "`{}` is not a size; write a whole number above zero and a unit: `512B`, `256KB`, `64KiB`, `1MB`, \
                     `1MiB`, `500 tokens` or `6k tokens`",
                    text.value()
                ))
                .with_span(text)),
            },
            None if !matches!(value, syn::Expr::Unary(_)) => Ok(Self::Expression(value)),
            _ => Err(Error::custom(
                "a size needs a unit: `\"512B\"`, `\"256KB\"`, `\"64KiB\"`, `\"1MB\"`, `\"1MiB\"`, `\"500 tokens\"` or \
                 `\"6k tokens\"`",
            )
            .with_span(&value)),
        }
    }
}

/// Estimated number of bytes per token.
const BYTES_PER_TOKEN: u64 = 4;

fn parse_size(text: &str) -> Option<usize> {
    let units = [
        ("B", 1),
        ("KB", 1_000),
        ("KiB", 1 << 10),
        ("MB", 1_000_000),
        ("MiB", 1 << 20),
        ("tokens", BYTES_PER_TOKEN),
        ("k tokens", 1_000 * BYTES_PER_TOKEN),
    ];
    // The value is limited to 32 bits, because `usize` may be smaller on the server's target than on this machine.
    let bytes = u32::try_from(parse_quantity(text, &units)?).ok()?;
    usize::try_from(bytes).ok().filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::parse_size;

    #[test]
    fn a_size_is_a_whole_number_and_a_unit() {
        for (text, expected) in [
            ("512B", Some(512)),
            ("256KB", Some(256_000)),
            ("64 KiB", Some(65_536)),
            ("1MB", Some(1_000_000)),
            ("2MiB", Some(2_097_152)),
            ("500 tokens", Some(2_000)),
            ("6k tokens", Some(24_000)),
            ("0 tokens", None),
            ("6ktokens", None),
            ("6K tokens", None),
            ("6k", None),
            ("1.5k tokens", None),
            ("2000000k tokens", None),
            ("0B", None),
            ("256", None),
            ("KB", None),
            ("1.5MB", None),
            ("-1KB", None),
            ("256kb", None),
            ("1GB", None),
            ("4295MB", None),
        ] {
            assert_eq!(parse_size(text), expected, "{text}");
        }
    }
}
