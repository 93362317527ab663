//! Models of annotated items. A model contains all defaults and spans; building it checks every rule that does not need
//! type information.
//!
//! A model is built even if the item contains mistakes. In that case, `stages` does not expand it, except for
//! `#[data]`.

pub(crate) mod app;
pub(crate) mod argument;
pub(crate) mod argument_names;
pub(crate) mod completer;
pub(crate) mod constraints;
pub(crate) mod data;
pub(crate) mod data_field;
pub(crate) mod elicit;
pub(crate) mod expose;
pub(crate) mod handler;
pub(crate) mod main;
pub(crate) mod name;
pub(crate) mod parameter;
pub(crate) mod resource;
pub(crate) mod scopes;
pub(crate) mod server;
pub(crate) mod signature;
#[cfg(feature = "skills")]
pub(crate) mod skills;
pub(crate) mod text;
pub(crate) mod tool;
