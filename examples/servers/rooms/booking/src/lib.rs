//! Rooms and their bookings, and what clients can do with them.
//!
//! Any server that links this crate has its tools; it gives them a [`Calendar`] as state. `calendar` knows nothing of
//! MCP, and the other modules little else.

mod calendar;
mod journal;
mod prompts;
mod resources;
mod tools;

pub use calendar::{Booking, BookingError, Calendar, Room};
