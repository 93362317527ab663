//! Turns tokens into options and parsed items. All decisions are left to `model`.

pub(crate) mod access;
pub(crate) mod annotations;
pub(crate) mod app;
pub(crate) mod argument;
pub(crate) mod choice;
pub(crate) mod complete;
pub(crate) mod completer;
pub(crate) mod data;
pub(crate) mod doc_comment;
pub(crate) mod elicit;
pub(crate) mod function;
pub(crate) mod guard;
pub(crate) mod impl_block;
pub(crate) mod kind;
pub(crate) mod listed;
pub(crate) mod literal;
pub(crate) mod options;
pub(crate) mod range;
pub(crate) mod resource;
pub(crate) mod reword;
pub(crate) mod server;
#[cfg(feature = "skills")]
pub(crate) mod skills;
pub(crate) mod tool;
pub(crate) mod types;
pub(crate) mod value;
