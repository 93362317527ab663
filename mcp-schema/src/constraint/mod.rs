//! Constraints on numbers, strings and sizes: one definition, evaluation and wording for each.
//!
//! Authors write [`Constraints`]; [`generate`](crate::generate) writes them into schemas. They are enforced on the JSON text of
//! a value by [`TextConstraints`], and on the value itself, with explanations, by [`check`](crate::check).

mod number;
mod pattern;
mod probe;
mod range;
mod size;
#[cfg(test)]
mod tests;
mod text;

pub use number::Bound;
pub(crate) use number::{count, is_multiple, whole};
pub(crate) use pattern::{PATTERN, compile, mismatch};
pub use probe::{ConstraintFallback, Probe};
pub(crate) use range::{RangeKeyword, not_a_multiple};
pub(crate) use size::{Counted, Size};
pub use text::TextConstraints;

/// The constraints of `#[arg(…)]`: written into the schema, and enforced.
#[derive(Clone, Copy, Debug)]
pub struct Constraints {
    /// The minimum number.
    pub minimum: Option<Bound>,
    /// The maximum number.
    pub maximum: Option<Bound>,
    /// Minimum length: characters of a string, or items of an array.
    pub min_length: Option<u64>,
    /// Maximum length: characters of a string, or items of an array.
    pub max_length: Option<u64>,
    /// A regular expression, which must match some part of the string.
    pub pattern: Option<&'static str>,
    /// The `format` keyword.
    pub format: Option<&'static str>,
    /// An example value, as JSON.
    pub example: Option<&'static str>,
    /// The constraints of each item of an array.
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
