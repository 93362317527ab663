//! Functions that the attributes accept.

#![allow(
    dead_code,
    missing_docs,
    clippy::all,
    clippy::pedantic,
    clippy::unwrap_used,
    reason = "most of them only have to compile"
)]

pub mod borrowed_results;
pub mod data;
pub mod everything;
pub mod exposed_variants;
pub mod forms;
pub mod made_by_macro_rules;
pub mod skills;
