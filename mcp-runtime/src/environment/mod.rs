//! Reads a server's settings from environment variables. A struct declares the variables, and all mistakes are reported
//! together.
//!
//! As with arguments, the struct's schema declares the names, types, defaults and descriptions, and the same validator
//! explains mistakes. `server/environment.rs` adds the struct to the server's state, and the command line lists the
//! variables in its help.

mod declared;
mod read;
mod secret;
#[cfg(test)]
mod tests;
mod variable;

pub(crate) use declared::ServerEnvironment;
pub(crate) use read::{EnvironmentReading, counts_as_unset, read};
pub use secret::Secret;
pub(crate) use variable::DeclaredVariable;
