//! The constraints of `#[arg(…)]`.

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

/// An end of a range. Whole numbers stay exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// A whole number.
    Integer(i128),
    /// Any other number.
    Float(f64),
}
