//! JSON-RPC 2.0 messages, ids and errors, and their conversion to and from bytes. This module contains no async code.
//! Its only dependency on MCP is the names of the members that it keeps while reading a message.

#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod agreement;
mod error;
mod message;
mod number;
mod scan;
mod text;

pub use error::ErrorObject;
pub use message::{
    Id, Incoming, KnownMeta, Member, Message, MetaMember, OwnedRequest, Params, RequestId,
    each_member, parse, parse_next,
};
pub use number::{Decimal, constant, is_huge, numbers, read_json};
pub use scan::{ParseLimits, Scan, ScanFailure};
pub use text::{NotAString, unquote, write_string};

#[cfg(test)]
pub(crate) mod tests;
