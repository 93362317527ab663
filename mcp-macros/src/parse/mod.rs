//! Turns tokens into options and split functions. All decisions are left to `model`.

pub(crate) mod access;
pub(crate) mod argument;
pub(crate) mod completer;
pub(crate) mod doc_comment;
pub(crate) mod elicit;
pub(crate) mod function;
pub(crate) mod guard;
pub(crate) mod impl_block;
pub(crate) mod item_options;
pub(crate) mod prompt;
pub(crate) mod resource;
pub(crate) mod reword;
pub(crate) mod server;
pub(crate) mod tool;
pub(crate) mod value;
