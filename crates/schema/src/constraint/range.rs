//! Numeric ranges and multiples.

use serde_json::Number;

use super::{Bound, to_integer};

/// A keyword that sets a bound on numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RangeKeyword {
    Minimum,
    Maximum,
    ExclusiveMinimum,
    ExclusiveMaximum,
}

impl RangeKeyword {
    /// All range keywords, in the order in which violations are reported.
    pub(crate) const ALL: [Self; 4] = [
        Self::Minimum,
        Self::Maximum,
        Self::ExclusiveMinimum,
        Self::ExclusiveMaximum,
    ];

    /// Returns the keyword as it appears in a schema.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Minimum => "minimum",
            Self::Maximum => "maximum",
            Self::ExclusiveMinimum => "exclusiveMinimum",
            Self::ExclusiveMaximum => "exclusiveMaximum",
        }
    }

    /// For an exclusive bound on whole numbers, returns the equivalent inclusive bound, which all model APIs support.
    /// Returns other bounds unchanged.
    pub(crate) fn inclusive(self, bound: Bound) -> (Self, Bound) {
        match (self, bound.normalized()) {
            (Self::ExclusiveMinimum, Bound::Integer(bound)) => {
                (Self::Minimum, Bound::Integer(bound.saturating_add(1)))
            }
            (Self::ExclusiveMaximum, Bound::Integer(bound)) => {
                (Self::Maximum, Bound::Integer(bound.saturating_sub(1)))
            }
            _ => (self, bound),
        }
    }

    /// Returns `true` if a number is within the bound.
    #[inline]
    pub(crate) fn is_satisfied(self, number: Bound, bound: Bound) -> bool {
        let order = number.compare(bound);
        match self {
            Self::Minimum => order.is_ge(),
            Self::Maximum => order.is_le(),
            Self::ExclusiveMinimum => order.is_gt(),
            Self::ExclusiveMaximum => order.is_lt(),
        }
    }

    /// Returns the message for a number that is not within the bound.
    pub(crate) fn violation_message(self, number: &Number, bound: &Number) -> String {
        let relation = match self {
            Self::Minimum => "is less than",
            Self::Maximum => "is more than",
            Self::ExclusiveMinimum => "is not more than",
            Self::ExclusiveMaximum => "is not less than",
        };
        format!("{number} {relation} {}", plain_text(bound))
    }
}

/// Returns a bound as a person would write it: whole numbers have no fractional part.
fn plain_text(bound: &Number) -> String {
    match to_integer(bound) {
        Some(whole) if whole.unsigned_abs() < MAX_PLAIN_WHOLE => whole.to_string(),
        _ => bound.to_string(),
    }
}

/// Larger numbers keep their notation, such as `1e300`.
const MAX_PLAIN_WHOLE: u128 = 1_000_000_000_000_000;

/// Returns the message for a number that violates `multipleOf`.
pub(crate) fn not_a_multiple_message(number: &Number, divisor: &Number) -> String {
    format!("{number} is not a multiple of {}", plain_text(divisor))
}
