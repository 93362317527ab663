//! What the instances of a server share, behind the traits of stores.

mod shared_changes;
mod shared_rates;

pub(crate) use shared_changes::SHARED_CHANGES;
pub(crate) use shared_rates::SHARED_RATES;
