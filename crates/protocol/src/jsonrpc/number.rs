//! JSON numbers of any size: represented by their digits, so that they are exact and `1.0` equals `1`, and read where
//! no type can hold them.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::jsonrpc::Scan;

/// Maximum number of digits to write out for an integer. No integer type can hold more digits.
const DIGITS: usize = 40;

/// A number, represented by its digits, without leading or trailing zeros, and a power of ten. Zero has no digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decimal {
    is_negative: bool,
    digits: String,
    exponent: i64,
}

impl Decimal {
    /// Parses a JSON number. Returns `None` if the text is not a number or its exponent is too large for an `i64`.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let (is_negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, power) = match rest.split_once(['e', 'E']) {
            Some((mantissa, power)) => (mantissa, read_power(power)?),
            None => (rest, 0),
        };
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((whole, fraction)) if is_digits(fraction) => (whole, fraction),
            Some(_) => return None,
            None => (mantissa, ""),
        };
        if !is_digits(whole) || (whole.len() > 1 && whole.starts_with('0')) {
            return None;
        }
        let written = format!("{whole}{fraction}");
        let kept = written.trim_end_matches('0');
        let zeros = written.len().checked_sub(kept.len())?;
        let digits = kept.trim_start_matches('0');
        if digits.is_empty() {
            return Some(Self {
                is_negative: false,
                digits: String::new(),
                exponent: 0,
            });
        }
        Some(Self {
            is_negative,
            digits: digits.to_owned(),
            exponent: power
                .checked_sub(i64::try_from(fraction.len()).ok()?)?
                .checked_add(i64::try_from(zeros).ok()?)?,
        })
    }

    /// Returns `true` if the number is an integer.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.exponent >= 0
    }

    /// Returns the number written out as an integer, or `None` if it is not an integer or is too long for any integer
    /// type.
    #[must_use]
    pub fn integer(&self) -> Option<String> {
        let zeros = usize::try_from(self.exponent).ok()?;
        if self.digits.is_empty() {
            return Some("0".to_owned());
        }
        if self.digits.len().checked_add(zeros)? > DIGITS {
            return None;
        }
        let sign = if self.is_negative { "-" } else { "" };
        Some(format!("{sign}{}{}", self.digits, "0".repeat(zeros)))
    }
}

/// Reads a value from JSON in a message, which has numbers of any size.
///
/// A number that an `f64` cannot hold, such as `1e400`, is read as a string with its text, so that it does not cost the
/// rest of the value.
///
/// # Errors
///
/// Fails if the value is not a `T`. The message is not meant for models.
pub fn read_json<T: DeserializeOwned>(json: &str) -> serde_json::Result<T> {
    serde_json::from_str(json).or_else(|error| match quote_huge_numbers(json) {
        Cow::Owned(quoted) => serde_json::from_str(&quoted),
        Cow::Borrowed(_) => Err(error),
    })
}

/// Reads a constant, such as the schema of a built-in tool. As text, it takes a tenth of the space that code which builds it
/// would take.
///
/// # Panics
///
/// Panics if the text is not JSON.
#[must_use]
pub fn constant(json: &'static str) -> Value {
    serde_json::from_str(json).expect("a constant is valid JSON")
}

/// Replaces each number that an `f64` cannot hold with a string.
fn quote_huge_numbers(json: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut written = 0;
    for (at, number) in numbers(json).filter(|(_, number)| is_huge(number)) {
        out.push_str(json.get(written..at).unwrap_or_default());
        out.push('"');
        out.push_str(number);
        out.push('"');
        written = at.saturating_add(number.len());
    }
    if written == 0 {
        return Cow::Borrowed(json);
    }
    out.push_str(json.get(written..).unwrap_or_default());
    Cow::Owned(out)
}

/// Returns `true` if an `f64`, and therefore a [`Value`], cannot hold a number.
#[must_use]
pub fn is_huge(number: &str) -> bool {
    !number.parse().is_ok_and(f64::is_finite)
}

/// Returns the position and the text of each number in a valid value. Digits inside strings are not numbers.
pub fn numbers(json: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0_usize;
    std::iter::from_fn(move || {
        loop {
            let rest = json.get(at..)?;
            let start = at;
            match rest.as_bytes().first()? {
                b'"' => at = at.checked_add(Scan::new(rest).next_value()?.len())?,
                b'-' | b'0'..=b'9' => {
                    let number = Scan::new(rest).next_number()?;
                    at = at.checked_add(number.len())?;
                    return Some((start, number));
                }
                _ => at = at.checked_add(1)?,
            }
        }
    })
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn read_power(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !is_digits(digits) {
        return None;
    }
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_equal_regardless_of_their_notation() {
        for (one, other, same) in [
            ("1", "1.0", true),
            ("-120", "-1.2e2", true),
            ("0", "-0.0e5", true),
            ("0.001", "1E-3", true),
            ("100", "1e+2", true),
            ("9007199254740993", "9007199254740992", false),
            (
                "0.1000000000000000000001",
                "0.1000000000000000000002",
                false,
            ),
            ("1", "-1", false),
            ("1e400", "1e401", false),
        ] {
            let read = |text| Decimal::read(text).unwrap();
            assert_eq!(read(one) == read(other), same, "{one} {other}");
        }
    }

    #[test]
    fn only_json_number_syntax_is_read_as_a_number() {
        for text in [
            "",
            "-",
            "+1",
            "01",
            ".5",
            "5.",
            "1e",
            "1e+",
            "0x2a",
            " 1",
            "1 ",
            "--1",
            "1e1.5",
            "NaN",
            "1e99999999999999999999",
        ] {
            assert_eq!(Decimal::read(text), None, "{text}");
        }
    }

    #[test]
    fn a_number_that_no_type_can_hold_is_read_as_its_text() {
        let long = "7".repeat(400);
        for (json, expected) in [
            (
                r#"{"a":1e400,"b":[-1E+999,1.5]}"#,
                json!({"a": "1e400", "b": ["-1E+999", 1.5]}),
            ),
            (
                r#"{"a":"1e400","b":1e-400}"#,
                json!({"a": "1e400", "b": 0.0}),
            ),
            (r#"{"1e400\"":1e309}"#, json!({"1e400\"": "1e309"})),
            (&long, json!(long)),
        ] {
            assert_eq!(read_json::<Value>(json).unwrap(), expected, "{json}");
        }
        assert!(read_json::<f64>("1e400").is_err());
        assert!(read_json::<Value>("[1e400").is_err());
    }

    #[test]
    fn integral_decimals_are_expanded_if_they_fit_an_integer_type() {
        let max = u128::MAX.to_string();
        for (text, expected) in [
            ("1.50e1", Some("15")),
            ("-3.0", Some("-3")),
            ("-0.0", Some("0")),
            ("1e3", Some("1000")),
            ("1.5", None),
            ("1e-1", None),
            (&max, Some(&*max)),
            ("1e39", Some("1000000000000000000000000000000000000000")),
            ("1e40", None),
            ("1e999999999999", None),
        ] {
            let number = Decimal::read(text).unwrap();
            assert_eq!(number.integer().as_deref(), expected, "{text}");
            assert_eq!(number.is_whole(), !matches!(text, "1.5" | "1e-1"), "{text}");
        }
    }
}
