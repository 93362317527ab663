//! Controls access to the server: identifies each request's caller, challenges callers without access, and publishes
//! the metadata that tells clients how to authenticate.
//!
//! The dispatcher checks the scopes that a handler needs, and `auth` checks whether a token is valid.
//!
//! Specification: basic/authorization of every protocol version since 2025-03-26; RFC 6750; RFC 9728.

pub(super) mod authentication;
#[cfg(feature = "auth")]
mod bearer;
mod challenge;
#[cfg(feature = "auth")]
mod protection;
