//! Models of annotated items: every default decided, every span kept, every rule checked that needs no types.
//!
//! A model is built even of an item with mistakes; the driver then expands nothing.

pub(crate) mod completer;
pub(crate) mod constraints;
pub(crate) mod data;
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
pub(crate) mod tool;
