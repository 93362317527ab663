//! JSON-RPC 2.0 messages, ids and errors, and their conversion to and from bytes. This module contains no async code.
//! Its only dependency on MCP is the names of the members that it keeps while reading a message.

#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod agreement;
mod error;
mod id;
mod limits;
mod message;
mod number;
mod owned;
mod params;
mod rescue;
mod scan;
mod text;

pub use error::ErrorObject;
pub use id::RequestId;
pub use limits::ParseLimits;
pub use message::{Id, Incoming, Message, each_member, parse, parse_next};
pub use number::{Decimal, constant, is_huge, numbers, read_json};
pub use owned::OwnedRequest;
pub use params::{KnownMeta, Member, MetaMember, NotAString, Params};
pub use scan::{Scan, ScanFailure};
pub use text::{unquote, write_string};

#[cfg(test)]
pub(crate) mod tests;
