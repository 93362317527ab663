//! Bounds on the work and the findings of a check.

/// Maximum number of steps for a value. Each visited schema takes one step; long strings and large lists take more.
pub(super) const STEPS: u32 = 500_000;

/// Maximum nesting depth of schemas while a value is checked.
pub(super) const DEPTH: u32 = 192;

/// Maximum number of faults to collect; more would not help.
pub(super) const FAULTS: usize = 100;
