//! Types for values that JSON has no type for, and results of other crates' types.
//!
//! schemars describes the types of other crates; features of this crate enable that. [`mcp_schema::generate`] makes their
//! schemas plain, and `handler::decode` enforces the schemas.

mod base64;
#[cfg(feature = "duration")]
mod duration;
#[cfg(any(
    feature = "chrono",
    feature = "decimal",
    feature = "jiff",
    feature = "url",
    feature = "uuid"
))]
mod foreign;

pub use base64::Base64;
#[cfg(feature = "duration")]
pub use duration::HumanDuration;
