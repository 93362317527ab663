//! The `tower` service: guards, then the caller, then the body, which decides the era.
//!
//! Everything but the order is left to others: the checks to `request` and `access`, the answers to `modern` and `legacy`.

#[cfg(feature = "axum")]
mod axum;
mod era;
pub(super) mod http_service;
mod mounted;
mod routing;
