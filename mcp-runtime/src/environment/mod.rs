//! Settings that a server reads from environment variables: one struct declares them, and all mistakes are found at once.
//!
//! The struct's schema declares the names, types, defaults and descriptions, as it does for arguments, and the same
//! checker says what is wrong. `server/environment.rs` makes the struct the state of a server, and the command line shows
//! the variables in its help.

mod declared;
mod read;
mod secret;
#[cfg(test)]
mod tests;
mod variable;

pub(crate) use declared::ServerEnvironment;
pub(crate) use read::{Reading, is_absent, read};
pub use secret::Secret;
pub(crate) use variable::DeclaredVariable;
