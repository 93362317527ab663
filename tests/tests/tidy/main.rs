//! Rules about the sources that no compiler checks: names, comments, words, sizes of files, rooms and circles, stages of the
//! macros, and sleeping tests.
//!
//! Each rule reads the tracked sources and lists what breaks it. `tests/tidy/exceptions.txt` holds the exceptions, each with
//! its reason; an exception that nothing needs any more fails too. `tests/tidy/public.txt` is a snapshot of the public
//! interface: `UPDATE_PUBLIC=1 cargo test -p tests --test tidy` writes it anew, and its diff is read before it is accepted.

#![allow(clippy::unwrap_used, reason = "a test that goes wrong may panic")]

mod comments;
mod exceptions;
mod layers;
mod names;
mod public;
mod sizes;
mod sleeps;
mod sources;
mod stages;
mod versions;
mod words;
