//! Reads requests and performs the checks that both eras have in common.
//!
//! The host, the origin and the headers are checked before any part of the body is read. Authentication is handled by
//! `access`, and the body is interpreted by `modern` and `legacy`.

pub(super) mod body;
pub(super) mod guards;
pub(super) mod headers;
pub(super) mod tags;
