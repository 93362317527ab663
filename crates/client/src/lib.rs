//! An in-process client for any protocol version, used by the command line and by the client for tests.
//!
//! The client is well behaved and trusts the server, because both share the same code. Its [`ClientHost`] answers
//! questions and receives notifications. For a client that does not trust the server, see the integration tests.

#[cfg_attr(
    not(feature = "testing"),
    expect(unreachable_pub, reason = "only tests see questions and notifications")
)]
mod connection;
mod requests;

pub(crate) use connection::{ClientHost, Failure, InProcessClient, InProcessServer};
pub(crate) use requests::StartedCall;

#[cfg_attr(
    not(feature = "testing"),
    expect(unreachable_pub, reason = "only tests see questions and notifications")
)]
pub use connection::{Notification, Question};
