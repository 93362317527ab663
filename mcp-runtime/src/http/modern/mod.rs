//! Modern requests, which are self-contained: they have no session, and the server keeps no state once they have been
//! answered.
//!
//! The checks that all requests share are in `request`. The dispatcher implements the methods.
//!
//! Specification: 2026-07-28, basic/transports, "Streamable HTTP".

mod call;
mod listen;
pub(super) mod mirrored_headers;
pub(super) mod post;
