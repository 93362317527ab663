//! Modern requests: they contain everything they need; there is no session, and nothing is kept once they are answered.
//!
//! The checks of all requests are in `request`; the meaning of methods is left to the dispatcher.
//!
//! Specification: 2026-07-28, basic/transports, "Streamable HTTP".

mod call;
mod claim;
mod event_queue;
mod listen;
pub(super) mod mirrored_headers;
pub(super) mod post;
mod status;
