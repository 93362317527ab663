//! A client in the same process, in any revision: what the command line and the client for tests are made of.
//!
//! It says what a well-behaved client says, and believes the server, whose code it shares. What is answered to questions
//! and done with notices is its [`Host`]'s business. A client that believes nothing is in the tests.

mod connection;
#[cfg_attr(
    not(feature = "testing"),
    expect(unreachable_pub, reason = "tests alone see questions and notices")
)]
mod message;
mod requests;
pub(crate) mod surface;

pub(crate) use connection::{Client, InProcess};
pub(crate) use message::{Failure, Host};
#[cfg_attr(
    not(feature = "testing"),
    expect(unreachable_pub, reason = "tests alone see questions and notices")
)]
pub use message::{Notice, Question};
pub(crate) use requests::Listed;
