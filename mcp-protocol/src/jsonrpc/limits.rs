//! Limits that apply while a message or batch is read.

/// Limits that apply while a message or batch is read.
#[derive(Clone, Copy, Debug)]
pub struct ParseLimits {
    /// Maximum nesting depth. Values above 128 have the same effect as 128.
    pub max_depth: usize,
    /// Maximum number of values, counting every key, item and scalar.
    pub max_values: usize,
    /// Maximum length of a string id, in bytes.
    pub max_id_bytes: usize,
    /// Maximum number of entries in a batch.
    pub max_batch: usize,
}

#[cfg(any(test, fuzzing))]
impl ParseLimits {
    /// Limits that are far higher than any ordinary message requires.
    pub(crate) const ROOMY: Self = Self {
        max_depth: 128,
        max_values: 100_000,
        max_id_bytes: 1 << 10,
        max_batch: 100,
    };
}
