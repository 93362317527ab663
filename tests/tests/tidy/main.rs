//! Source code rules that the compiler does not check: names, wording, links and messages in the guide, addresses, file
//! sizes, layers and circular imports, the stages of the macros, and tests that sleep or wait without a
//! limit.
//!
//! Each rule reads the source files and lists its violations. `tests/tidy/exceptions.txt` contains the exceptions with
//! their reasons; an exception that is no longer needed is a failure too. `tests/tidy/public.txt` is a snapshot of the
//! public interface. To update it, run `UPDATE_PUBLIC=1 cargo test -p tests --test tidy`, and review the diff before
//! accepting it.

#![allow(clippy::unwrap_used, reason = "a test that goes wrong may panic")]

mod addresses;
mod exceptions;
mod layers;
mod links;
mod messages;
mod names;
mod public;
mod sizes;
mod sleeps;
mod sources;
mod stages;
mod versions;
mod waits;
mod words;
