//! Types for values without a dedicated JSON type, and support for other crates' types as results.
//!
//! The schemas for other crates' types are derived by schemars and enabled by features of this crate.
//! [`mcp_schema::generate`] simplifies these schemas, and `handler::decode` enforces them.

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
