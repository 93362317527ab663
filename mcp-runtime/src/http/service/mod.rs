//! The `tower` service: checks the guards, then the caller, then the body, which determines the era.
//!
//! This module determines only the order. The checks are in `request` and `access`; requests are answered by `modern`
//! and `legacy`.

#[cfg(feature = "axum")]
mod axum;
mod era;
pub(super) mod http_service;
mod mounted;
mod routing;
