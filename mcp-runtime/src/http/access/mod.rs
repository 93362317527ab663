//! Access to the server: the caller of a request, challenges for callers without access, and the metadata that tells clients
//! how to authenticate.
//!
//! The scopes that a handler needs are left to the dispatcher, and the validity of a token to `auth`.
//!
//! Specification: basic/authorization of every protocol version since 2025-03-26; RFC 6750; RFC 9728.

pub(super) mod authentication;
#[cfg(feature = "auth")]
mod bearer;
mod challenge;
#[cfg(feature = "auth")]
mod metadata;
#[cfg(feature = "auth")]
mod protection;
