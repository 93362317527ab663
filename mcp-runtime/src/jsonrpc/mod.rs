//! JSON-RPC 2.0: messages, ids, errors; bytes to messages and back. Independent of MCP except for the names of the members
//! that it keeps while reading a message, and independent of async.

#[cfg(any(test, fuzzing))]
pub(crate) mod agreement;
mod error;
mod id;
mod message;
mod number;
mod params;
mod rescue;
mod scan;
mod text;

pub use error::ErrorObject;
pub(crate) use id::RequestId;
#[cfg(any(feature = "http", test, fuzzing))]
pub(crate) use message::parse;
pub(crate) use message::{Id, Incoming, Message, each_member, leading_string, parse_next};
pub(crate) use number::Decimal;
pub(crate) use params::{KnownMeta, Member, MetaMember, NotAString, Params};
pub(crate) use text::{plain as plain_bytes, unquote, write_string};

#[cfg(test)]
pub(crate) mod tests;
