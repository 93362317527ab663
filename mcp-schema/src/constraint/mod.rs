//! Constraints on numbers, strings and sizes. Each constraint is defined, evaluated and described in one place.
//!
//! Authors specify [`Constraints`], and [`generate`](crate::generate) writes them into schemas. [`TextConstraints`]
//! enforces them on the JSON text of a value. [`check`](crate::check) enforces them on the value itself and explains
//! violations.

mod number;
mod pattern;
mod range;
mod size;
#[cfg(test)]
mod tests;
mod text;

pub use number::Bound;
pub(crate) use number::{is_multiple, to_count, to_integer};
pub(crate) use pattern::{PATTERN, compile_pattern, mismatch_message};
pub(crate) use range::{RangeKeyword, not_a_multiple_message};
pub(crate) use size::{Size, SizeUnit};
pub use text::TextConstraints;

/// The constraints from `#[arg(…)]`, which are written into the schema and enforced.
#[derive(Clone, Copy, Debug)]
pub struct Constraints {
    /// Minimum value of a number.
    pub minimum: Option<Bound>,
    /// Maximum value of a number.
    pub maximum: Option<Bound>,
    /// Minimum length: the number of characters in a string or of items in an array.
    pub min_length: Option<u64>,
    /// Maximum length: the number of characters in a string or of items in an array.
    pub max_length: Option<u64>,
    /// A regular expression that must match some part of the string.
    pub pattern: Option<&'static str>,
    /// The `format` keyword.
    pub format: Option<&'static str>,
    /// An example value, as JSON.
    pub example: Option<&'static str>,
    /// The constraints on each item of an array.
    pub items: Option<&'static Constraints>,
}

impl Constraints {
    /// No constraints.
    pub const NONE: Self = Self {
        minimum: None,
        maximum: None,
        min_length: None,
        max_length: None,
        pattern: None,
        format: None,
        example: None,
        items: None,
    };
}
