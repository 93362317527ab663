//! Constraints on numbers, strings and sizes. Each constraint is defined, evaluated and described in one place.
//!
//! Authors specify [`Constraints`], and [`generate`](crate::generate) writes them into schemas. [`TextConstraints`]
//! enforces those of a schema on the JSON text of a value. [`check`](crate::check) enforces them on the value itself and
//! explains violations.

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
use serde_json::{Map, Value};
pub(crate) use size::{Size, SizeUnit};
pub use text::TextConstraints;

/// The constraints from `#[arg(…)]`, which are written into the schema and enforced.
#[derive(Clone, Copy, Debug)]
pub struct Constraints {
    /// Minimum value of a number.
    pub minimum: Option<Bound>,
    /// Maximum value of a number.
    pub maximum: Option<Bound>,
    /// A number is more than this value.
    pub exclusive_minimum: Option<Bound>,
    /// A number is less than this value.
    pub exclusive_maximum: Option<Bound>,
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
        exclusive_minimum: None,
        exclusive_maximum: None,
        min_length: None,
        max_length: None,
        pattern: None,
        format: None,
        example: None,
        items: None,
    };

    /// Returns the bounds on numbers, each with its keyword.
    pub(crate) fn bounds(&self) -> impl Iterator<Item = (RangeKeyword, Bound)> + '_ {
        RangeKeyword::ALL.into_iter().filter_map(|keyword| {
            let bound = match keyword {
                RangeKeyword::Minimum => self.minimum,
                RangeKeyword::Maximum => self.maximum,
                RangeKeyword::ExclusiveMinimum => self.exclusive_minimum,
                RangeKeyword::ExclusiveMaximum => self.exclusive_maximum,
            };
            Some((keyword, bound?))
        })
    }

    /// Returns a schema that asserts these constraints and nothing else, whatever the type of the value.
    #[must_use]
    pub fn to_schema(&self) -> Value {
        let mut keywords = Map::new();
        let mut add = |keyword: &str, value: Option<Value>| {
            if let Some(value) = value {
                keywords.insert(keyword.to_owned(), value);
            }
        };
        for (keyword, bound) in self.bounds() {
            add(keyword.name(), bound.to_json().map(Value::Number));
        }
        for unit in [SizeUnit::Characters, SizeUnit::Items] {
            let (minimum, maximum) = unit.keywords();
            add(minimum, self.min_length.map(Value::from));
            add(maximum, self.max_length.map(Value::from));
        }
        add(PATTERN, self.pattern.map(Value::from));
        add("items", self.items.map(Self::to_schema));
        Value::Object(keywords)
    }
}
