//! Bounds on the amount of work in a check and on the number of problems that it collects.

/// Maximum number of steps for checking a value. Each visited schema takes one step; long strings and large lists take
/// more.
pub(super) const STEPS: u32 = 500_000;

/// Maximum nesting depth of schemas while a value is checked.
pub(super) const DEPTH: u32 = 192;

/// Maximum number of problems to collect; reporting more would not be helpful.
pub(super) const FAULTS: usize = 100;
