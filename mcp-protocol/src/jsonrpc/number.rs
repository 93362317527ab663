//! JSON numbers that are represented by their digits, so that numbers of any length are exact and `1.0` equals `1`.

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
    use super::*;

    #[test]
    fn equal_numbers_are_equal_however_they_are_written() {
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
    fn only_numbers_of_json_are_numbers() {
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
    fn integers_are_written_out_as_far_as_a_type_can_hold_them() {
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
