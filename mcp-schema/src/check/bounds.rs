//! Bounds on a check's work and on the number of faults that it collects.

/// Maximum number of steps for checking a value. Each visited schema takes one step; long strings and large lists take
/// more.
pub(super) const STEPS: u32 = 500_000;

/// Maximum nesting depth of schemas while a value is checked.
pub(super) const DEPTH: u32 = 192;

/// Maximum number of faults to collect; more would not help.
pub(super) const FAULTS: usize = 100;
