//! An in-process client for any protocol version, used by the command line and by the client for tests.
//!
//! The client is well behaved and trusts the server, because both share the same code. Its [`ClientHost`] answers
//! questions and receives notifications. For a client that does not trust the server, see the integration tests.

mod connection;
#[cfg_attr(
    not(feature = "testing"),
    expect(unreachable_pub, reason = "only tests see questions and notifications")
)]
mod message;
mod requests;
mod server_details;
pub(crate) mod surface;
mod task;

pub(crate) use connection::{InProcessClient, InProcessServer};
pub(crate) use message::{ClientHost, Failure};
#[cfg_attr(
    not(feature = "testing"),
    expect(unreachable_pub, reason = "only tests see questions and notifications")
)]
pub use message::{Notification, Question};
pub(crate) use task::StartedCall;
