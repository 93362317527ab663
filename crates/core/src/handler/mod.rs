//! The building blocks of user code: parameters, results, and the definitions that macros create from functions.
//!
//! This module does not depend on transports or protocol eras. Conversions return version-independent values, which
//! `protocol::shape` adapts to a protocol version.

pub mod access;
pub mod background;
pub mod completion;
pub mod decode;
pub mod definition;
pub mod dynamic;
pub mod extension;
pub mod field_default;
pub mod handler_error;
pub mod item_option;
pub mod listing;
pub mod middleware;
pub mod option;
pub mod output;
pub mod parameter;
pub mod rules;
pub mod run;
pub mod tags;
