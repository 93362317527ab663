//! The `tower` service, which applies the guards, authenticates the caller, and reads the body to determine the era.
//!
//! This module determines only the order of these steps. The checks are in `request` and `access`; `modern` and
//! `legacy` answer the requests.

#[cfg(feature = "axum")]
mod axum;
pub(super) mod http_service;
mod mounted;
mod routing;
