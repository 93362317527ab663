//! What an annotated item means: plain values with every default decided and every span kept.
//!
//! Rules that need no types are checked on the way. Tokens are written by `expand`.

pub(crate) mod access;
pub(crate) mod check;
pub(crate) mod completer;
pub(crate) mod default_value;
pub(crate) mod errors;
pub(crate) mod handler;
pub(crate) mod parameter;
pub(crate) mod prompt;
pub(crate) mod resource;
pub(crate) mod tool;

pub(crate) use errors::Errors;
pub(crate) use handler::{Handler, Kind};
