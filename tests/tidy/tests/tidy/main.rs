//! Source code rules that the compiler does not check: names, wording, links and messages in the guide, addresses,
//! sizes of files and rooms, layers and circular imports, the stages of the macros, tests that sleep or wait without a
//! limit, and the requirements of the specification that have a test.
//!
//! Each rule reads the source files and lists its violations. `tests/tidy/exceptions.txt` contains the exceptions with
//! their reasons; an exception that is no longer needed is a failure too. `tests/tidy/public.txt` is a snapshot of the
//! public interface, and `tests/tidy/rooms.txt` says how large each room may be. After a change on purpose, `.ci/renew`
//! writes them anew; review the diff before accepting it.

#![allow(clippy::unwrap_used, reason = "a test that goes wrong may panic")]

mod add_ons;
mod addresses;
mod coverage;
mod exceptions;
mod hosts;
mod layers;
mod links;
mod messages;
mod names;
mod public;
mod rooms;
mod sizes;
mod sleeps;
mod sources;
mod stages;
mod versions;
mod waits;
mod words;
