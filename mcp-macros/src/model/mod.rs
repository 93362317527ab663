//! Models of annotated items: plain values with every default decided and every span kept.
//!
//! Building a model also checks the rules that need no types. `expand` writes the tokens.

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
