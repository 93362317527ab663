//! One message, borrowed from the text it came in.

use std::borrow::Cow;

use crate::jsonrpc::{ErrorObject, RequestId};
use crate::limits::Limits;

/// What a line or body holds.
pub(crate) enum Incoming<'a> {
    /// One message.
    Message(Message<'a>),
    /// An array: the text of each element, at least one, each valid JSON within the limits.
    Batch(Vec<&'a str>),
}

/// A message. Whether it is a request, a notification or a response is for [`Message`]'s readers to see from its parts.
#[derive(Clone)]
pub(crate) struct Message<'a> {
    pub(crate) id: Id<'a>,
    /// The method, unescaped.
    pub(crate) method: Option<Cow<'a, str>>,
    pub(crate) params: Params<'a>,
    /// The raw result of a response.
    pub(crate) result: Option<&'a str>,
    /// The raw error of a response.
    pub(crate) error: Option<&'a str>,
}

/// The id member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Id<'a> {
    /// There is none.
    Absent,
    /// A valid one, as raw JSON.
    Valid(&'a str),
    /// `null`, a fraction, too large, or no number or string at all.
    Invalid,
}

impl Id<'_> {
    pub(crate) fn to_request_id(&self) -> Option<RequestId> {
        match self {
            Id::Valid(json) => Some(RequestId::from_valid(json)),
            _ => None,
        }
    }
}

/// Members of `params` that are kept on the way through a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Member {
    Name,
    Uri,
    Cursor,
    Arguments,
    Ref,
    Argument,
    Context,
    Level,
    RequestId,
    ProtocolVersion,
    Capabilities,
    ClientInfo,
    Notifications,
    InputResponses,
    RequestState,
    Meta,
}

/// Members of `params._meta` that are kept, by their wire names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetaMember {
    /// `io.modelcontextprotocol/protocolVersion`: the claim that makes a message modern.
    ProtocolVersion,
    /// `io.modelcontextprotocol/clientCapabilities`
    ClientCapabilities,
    /// `io.modelcontextprotocol/clientInfo`
    ClientInfo,
    /// `io.modelcontextprotocol/logLevel`
    LogLevel,
    /// `progressToken`
    ProgressToken,
}

/// `params`, raw, with the members the protocol uses already found.
#[derive(Clone)]
pub(crate) struct Params<'a> {
    raw: Option<&'a str>,
    members: [Option<&'a str>; 16],
    meta: [Option<&'a str>; 5],
}

impl<'a> Params<'a> {
    /// The raw JSON of `params`, if there is any.
    pub(crate) fn raw(&self) -> Option<&'a str> {
        self.raw
    }

    /// Whether `params` is absent or an object.
    pub(crate) fn is_object(&self) -> bool {
        self.raw.is_none_or(|raw| raw.starts_with('{'))
    }

    /// The raw JSON of a member.
    pub(crate) fn get(&self, member: Member) -> Option<&'a str> {
        self.members[member as usize]
    }

    /// The raw JSON of a member of `_meta`.
    pub(crate) fn meta(&self, member: MetaMember) -> Option<&'a str> {
        self.meta[member as usize]
    }

    /// A member that must be a string, unescaped; `Err` if it is there and is none.
    pub(crate) fn string(&self, member: Member) -> Result<Option<Cow<'a, str>>, NotAString> {
        self.get(member).map(unquote).transpose()
    }

    /// A member of `_meta` that must be a string, unescaped.
    pub(crate) fn meta_string(
        &self,
        member: MetaMember,
    ) -> Result<Option<Cow<'a, str>>, NotAString> {
        self.meta(member).map(unquote).transpose()
    }
}

/// The value of a member that should be a string is something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotAString;

/// The text of a JSON string.
pub(crate) fn unquote(json: &str) -> Result<Cow<'_, str>, NotAString> {
    let _ = json;
    todo!()
}

/// Reads one line or body in a single pass: envelope, `params`, `_meta`, depth and size limits.
///
/// # Errors
///
/// The error to answer with: -32700 if the text is not JSON, or not UTF-8, or too deep; -32600 if it is JSON but not a
/// message, or over another limit. The id, if it could be read, comes with it.
pub(crate) fn parse<'a>(
    text: &'a [u8],
    limits: &Limits,
) -> Result<Incoming<'a>, (Option<RequestId>, ErrorObject)> {
    let _ = (text, limits);
    todo!()
}
