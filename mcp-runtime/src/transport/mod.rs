//! Framing and bytes: stdio, byte streams, memory.

mod duplex;
mod peer;
mod watchdog;
