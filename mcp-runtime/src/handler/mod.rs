//! What users write: parameters in, results out, and the definitions the macros make of their functions.
//!
//! Nothing here knows of transports or eras. Conversions give neutral values; `protocol::shape` fits them to a revision.

pub(crate) mod access;
pub(crate) mod audience;
pub(crate) mod call;
pub(crate) mod check;
pub(crate) mod completion;
pub(crate) mod constraint;
pub(crate) mod decode;
pub(crate) mod definition;
pub(crate) mod dynamic;
pub(crate) mod exact;
pub mod form;
pub(crate) mod kind;
pub(crate) mod listing;
pub(crate) mod middleware;
pub(crate) mod output;
pub(crate) mod parameter;
pub(crate) mod prompt;
pub(crate) mod resource;
pub mod rules;
pub(crate) mod safe_path;
pub(crate) mod sanitize;
pub(crate) mod schema;
pub(crate) mod suggest;
pub(crate) mod template;
pub(crate) mod tool_error;
#[cfg(feature = "tower")]
pub(crate) mod tower;
