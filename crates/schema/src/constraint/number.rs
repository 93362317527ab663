//! Numbers that are compared by value rather than by notation, so that `1` equals `1.0`.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// A range bound, or a number to compare with a bound. Whole numbers remain exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// A whole number.
    Integer(i128),
    /// Any other number.
    Float(f64),
}

impl Bound {
    /// Converts a JSON number. Whole numbers may be written with a fractional part of zero, as in `1.0`.
    pub(crate) fn from_number(number: &Number) -> Self {
        match number.as_i128() {
            Some(whole) => Self::Integer(whole),
            None => Self::Float(number.as_f64().unwrap_or(f64::NAN)).normalized(),
        }
    }

    /// Converts a whole float to an integer, so that comparisons do not depend on how a number is written.
    #[inline]
    pub(crate) fn normalized(self) -> Self {
        match self {
            Self::Float(float) => integer_from_float(float).map_or(self, Self::Integer),
            Self::Integer(_) => self,
        }
    }

    /// Parses the JSON text of a number; returns `None` if it is not a number.
    #[inline]
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text.parse::<i128>() {
            Ok(whole) => Some(Self::Integer(whole)),
            Err(_) => Some(Self::Float(text.parse().ok()?).normalized()),
        }
    }

    /// Converts the bound to a JSON number; returns `None` if JSON cannot represent it.
    pub(crate) fn to_json(self) -> Option<Number> {
        match self {
            Self::Integer(whole) => Number::from_i128(whole),
            Self::Float(float) => Number::from_f64(float),
        }
    }

    /// Compares two numbers by value. Numbers that cannot be ordered count as equal.
    #[inline]
    pub(crate) fn compare(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => a.cmp(&b),
            (a, b) => a
                .to_float()
                .partial_cmp(&b.to_float())
                .unwrap_or(Ordering::Equal),
        }
    }

    #[allow(
        clippy::cast_precision_loss,
        reason = "the number it is compared with is no more precise"
    )]
    fn to_float(self) -> f64 {
        match self {
            Self::Integer(whole) => whole as f64,
            Self::Float(float) => float,
        }
    }
}

/// Returns the value of a keyword that specifies a count. The count may be written with a fractional part of zero.
pub(crate) fn to_count(value: &Value) -> Option<usize> {
    let Value::Number(number) = value else {
        return None;
    };
    match to_integer(number) {
        Some(whole) => usize::try_from(whole).ok(),
        None => None,
    }
}

/// Returns the number as an integer if it is whole.
pub(crate) fn to_integer(number: &Number) -> Option<i128> {
    if let Some(whole) = number.as_i128() {
        return Some(whole);
    }
    integer_from_float(number.as_f64()?)
}

fn integer_from_float(float: f64) -> Option<i128> {
    // The limit, 2^100, is far above any 64-bit integer, and smaller values convert without loss.
    if float.fract() == 0.0 && float.abs() < 1.267_650_600_228_229_4e30 {
        #[allow(
            clippy::cast_possible_truncation,
            reason = "whole and within range, just checked"
        )]
        return Some(float as i128);
    }
    None
}

/// Returns `true` if the number is a multiple of the divisor. Both may be fractions such as 0.1.
pub(crate) fn is_multiple(number: &Number, divisor: &Number) -> bool {
    if let (Some(number), Some(divisor)) = (to_integer(number), to_integer(divisor)) {
        return divisor != 0 && number % divisor == 0;
    }
    if let (Some((number, scale)), Some((divisor, other))) =
        (to_decimal(number), to_decimal(divisor))
    {
        let common = scale.max(other);
        let raise = |mantissa: i128, scale: u32| {
            10_i128
                .checked_pow(common.checked_sub(scale)?)
                .and_then(|factor| mantissa.checked_mul(factor))
        };
        if let (Some(number), Some(divisor)) = (raise(number, scale), raise(divisor, other)) {
            return divisor != 0 && number % divisor == 0;
        }
    }
    let quotient = number.as_f64().unwrap_or(f64::NAN) / divisor.as_f64().unwrap_or(f64::NAN);
    quotient.is_finite() && quotient.fract() == 0.0
}

/// Returns the digits of the number as an integer, together with the number of decimal places.
fn to_decimal(number: &Number) -> Option<(i128, u32)> {
    let text = number.to_string();
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text.as_str(), 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let scale = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
    match u32::try_from(scale) {
        Ok(scale) => Some((digits, scale)),
        Err(_) => Some((
            10_i128
                .checked_pow(scale.unsigned_abs())?
                .checked_mul(digits)?,
            0,
        )),
    }
}
