//! The smallest limit at which a tool's results can be kept.

/// Minimum `max_output` of a tool with the `spill` option, in bytes. Below this, there would be no room for the first
/// part of a result alongside the directions for reading the rest.
pub const MIN_SPILLED_BYTES: usize = 2_000;
