//! Requests: reading and checking of everything that is the same in both eras.
//!
//! The host, the origin and the headers are checked before any part of the body is read. Authentication is left to
//! `access`, and the meaning of the body to `modern` and `legacy`.

pub(super) mod accepts;
pub(super) mod body;
pub(super) mod cors;
pub(super) mod guards;
pub(super) mod head;
pub(super) mod headers;
