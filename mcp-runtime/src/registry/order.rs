//! The order of a list, and the numbers that represent its items in cursors.

use std::sync::Arc;

use crate::fnv::fnv;

/// The position of a callable in its list. The position is the same in every instance of a program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OrderKey {
    /// Annotated functions come first, sorted by the position of their definitions in the program.
    Declared(u32),
    /// Definitions inserted at run time follow, sorted by name regardless of the order of insertion.
    Inserted(Arc<str>),
}

/// Returns the number that represents a name in a cursor. The number is the same in all instances.
pub(crate) fn fingerprint(name: &str) -> u64 {
    fnv(name.as_bytes())
}
