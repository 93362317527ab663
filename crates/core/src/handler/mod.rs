//! The building blocks of user code: parameters, results, and the definitions that macros create from functions.
//!
//! This module does not depend on transports or protocol eras. Conversions return version-independent values, which
//! `protocol::shape` adapts to a protocol version.

pub(crate) mod access;
pub(crate) mod background;
pub(crate) mod call;
pub(crate) mod completion;
pub(crate) mod decode;
pub(crate) mod definition;
pub(crate) mod dynamic;
pub(crate) mod extension;
pub(crate) mod handler_error;
pub(crate) mod item_option;
pub(crate) mod listing;
pub(crate) mod middleware;
pub(crate) mod option;
pub(crate) mod output;
pub(crate) mod parameter;
pub mod rules;
pub(crate) mod safe_path;
pub(crate) mod sanitize;
pub(crate) mod tags;
#[cfg(feature = "tower")]
pub(crate) mod tower;
pub(crate) mod values;
