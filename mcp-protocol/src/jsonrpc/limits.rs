//! Bounds on one message or batch while it is read.

/// Bounds on one message or batch while it is read. Nothing reads more than they allow.
#[derive(Clone, Copy, Debug)]
pub struct ParseLimits {
    /// Maximum nesting; never more than 128, whatever is set.
    pub max_depth: usize,
    /// Maximum number of values, counting every key, item and scalar.
    pub max_values: usize,
    /// Maximum length of an id that is a string, in bytes.
    pub max_id_bytes: usize,
    /// Maximum number of entries in a batch.
    pub max_batch: usize,
}

#[cfg(any(test, fuzzing))]
impl ParseLimits {
    /// Bounds that ordinary messages stay far below.
    pub(crate) const ROOMY: Self = Self {
        max_depth: 128,
        max_values: 100_000,
        max_id_bytes: 1 << 10,
        max_batch: 100,
    };
}
