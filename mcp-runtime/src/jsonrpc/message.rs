//! One message, borrowed from the text it came in.

use std::borrow::Cow;

use crate::jsonrpc::scan::{Fail, MOST_DEPTH, Quoted, Scan, Span, rescue_id};
use crate::jsonrpc::{ErrorObject, RequestId, unquote};
use crate::limits::Limits;

/// What a line or body holds.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "lives on the stack of whoever reads a message; a box would cost each message an allocation"
)]
pub(crate) enum Incoming<'a> {
    /// One message.
    Message(Message<'a>),
    /// An array: the text of each element, at least one, each valid JSON within the limits.
    Batch(Vec<&'a str>),
}

/// A message. Whether it is a request, a notification or a response is for [`Message`]'s readers to see from its parts.
#[derive(Clone, Debug)]
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

impl Member {
    /// Its name on the wire.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Uri => "uri",
            Self::Cursor => "cursor",
            Self::Arguments => "arguments",
            Self::Ref => "ref",
            Self::Argument => "argument",
            Self::Context => "context",
            Self::Level => "level",
            Self::RequestId => "requestId",
            Self::ProtocolVersion => "protocolVersion",
            Self::Capabilities => "capabilities",
            Self::ClientInfo => "clientInfo",
            Self::Notifications => "notifications",
            Self::InputResponses => "inputResponses",
            Self::RequestState => "requestState",
            Self::Meta => "_meta",
        }
    }
}

impl Member {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "name" => Self::Name,
            "uri" => Self::Uri,
            "cursor" => Self::Cursor,
            "arguments" => Self::Arguments,
            "ref" => Self::Ref,
            "argument" => Self::Argument,
            "context" => Self::Context,
            "level" => Self::Level,
            "requestId" => Self::RequestId,
            "protocolVersion" => Self::ProtocolVersion,
            "capabilities" => Self::Capabilities,
            "clientInfo" => Self::ClientInfo,
            "notifications" => Self::Notifications,
            "inputResponses" => Self::InputResponses,
            "requestState" => Self::RequestState,
            "_meta" => Self::Meta,
            _ => return None,
        })
    }
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

impl MetaMember {
    /// The name on the wire.
    pub(crate) const fn key(self) -> &'static str {
        match self {
            Self::ProtocolVersion => "io.modelcontextprotocol/protocolVersion",
            Self::ClientCapabilities => "io.modelcontextprotocol/clientCapabilities",
            Self::ClientInfo => "io.modelcontextprotocol/clientInfo",
            Self::LogLevel => "io.modelcontextprotocol/logLevel",
            Self::ProgressToken => "progressToken",
        }
    }

    fn named(name: &str) -> Option<Self> {
        let Some(name) = name.strip_prefix("io.modelcontextprotocol/") else {
            return (name == "progressToken").then_some(Self::ProgressToken);
        };
        Some(match name {
            "protocolVersion" => Self::ProtocolVersion,
            "clientCapabilities" => Self::ClientCapabilities,
            "clientInfo" => Self::ClientInfo,
            "logLevel" => Self::LogLevel,
            _ => return None,
        })
    }
}

/// `params`, raw, with the members the protocol uses already found.
#[derive(Clone, Debug)]
pub(crate) struct Params<'a> {
    /// The message. Places in it are half as large as slices, and this is moved around a lot.
    text: &'a str,
    raw: Span,
    members: [Span; 16],
    meta: [Span; 5],
}

impl<'a> Params<'a> {
    /// The raw JSON of `params`, if there is any.
    pub(crate) fn raw(&self) -> Option<&'a str> {
        self.raw.of(self.text)
    }

    /// Whether `params` is absent or an object.
    pub(crate) fn is_object(&self) -> bool {
        self.raw().is_none_or(|raw| raw.starts_with('{'))
    }

    /// The raw JSON of a member.
    pub(crate) fn get(&self, member: Member) -> Option<&'a str> {
        self.members.get(member as usize)?.of(self.text)
    }

    /// The raw JSON of a member of `_meta`.
    pub(crate) fn meta(&self, member: MetaMember) -> Option<&'a str> {
        self.meta.get(member as usize)?.of(self.text)
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

/// Reads one line or body in a single pass: envelope, `params`, `_meta`, depth and size limits.
///
/// A message with a method has a valid id or none, and neither result nor error; one without has exactly one of these two,
/// and possibly an invalid id. `params` of `null` count as absent. Members that are kept may be there once only: where two
/// readers could see different values, nobody sees any.
///
/// # Errors
///
/// The error to answer with: -32700 if the text is not JSON, or not UTF-8, or too deep; -32600 if it is JSON but not a
/// message, or over another limit. The id of a request, if it could be read, comes with it; that of a response never
/// does, because the ids of the two sides may be the same.
pub(crate) fn parse<'a>(
    text: &'a [u8],
    limits: &Limits,
) -> Result<Incoming<'a>, (Option<RequestId>, ErrorObject)> {
    let text = std::str::from_utf8(text).map_err(|error| {
        let message = format!("not UTF-8 at byte {}", error.valid_up_to());
        (None, ErrorObject::new(ErrorObject::PARSE_ERROR, message))
    })?;
    if u32::try_from(text.len()).is_err() {
        let message = "a message is shorter than 4 GiB";
        return Err((None, ErrorObject::invalid_request(message)));
    }
    let mut scan = Scan::new(text, limits);
    let read = match scan.peek() {
        Some(b'{') => read_message(&mut scan, limits),
        Some(b'[') => read_batch(&mut scan, limits),
        _ => scan
            .value(0)
            .and_then(|_| scan.end())
            .map(|()| Err((None, ErrorObject::invalid_request("a message is an object")))),
    };
    match read {
        Some(read) => read,
        None => Err(failed(text, scan.failure(), limits)),
    }
}

type Read<'a> = Result<Incoming<'a>, (Option<RequestId>, ErrorObject)>;

fn failed(text: &str, fail: Fail, limits: &Limits) -> (Option<RequestId>, ErrorObject) {
    let rescued = || {
        if !text.trim_ascii_start().starts_with('{') {
            return None;
        }
        match rescue_id(text).map(|raw| read_id(raw, limits)) {
            Some(Id::Valid(json)) => Some(RequestId::from_valid(json)),
            _ => None,
        }
    };
    match fail {
        Fail::Syntax(at) => {
            let message = format!("not JSON at byte {at}");
            (None, ErrorObject::new(ErrorObject::PARSE_ERROR, message))
        }
        Fail::Deep => {
            let message = format!("nested deeper than {} levels", limits.depth.min(MOST_DEPTH));
            (
                rescued(),
                ErrorObject::new(ErrorObject::PARSE_ERROR, message),
            )
        }
        Fail::Long => {
            let message = format!("more than {} values in one message", limits.nodes);
            (rescued(), ErrorObject::invalid_request(message))
        }
    }
}

fn read_batch<'a>(scan: &mut Scan<'a>, limits: &Limits) -> Option<Read<'a>> {
    let mut elements = Vec::new();
    let mut count = 0_usize;
    scan.array(0, |element| {
        count = count.saturating_add(1);
        if count <= limits.batch {
            elements.push(element);
        }
    })?;
    scan.end()?;
    Some(if count == 0 {
        Err((None, ErrorObject::invalid_request("the batch is empty")))
    } else if count > limits.batch {
        let message = format!("more than {} messages in one batch", limits.batch);
        Err((None, ErrorObject::invalid_request(message)))
    } else {
        Ok(Incoming::Batch(elements))
    })
}

fn read_message<'a>(scan: &mut Scan<'a>, limits: &Limits) -> Option<Read<'a>> {
    let (mut version, mut id, mut method) = (None, None, None);
    let (mut result, mut error) = (None, None);
    let mut has_params = false;
    let mut params = Params {
        text: scan.text(),
        raw: Span::default(),
        members: [Span::default(); 16],
        meta: [Span::default(); 5],
    };
    let mut repeated = false;
    let mut ids = 0_usize;
    scan.object(0, |scan, key| {
        let slot = match &*name_of(key) {
            "jsonrpc" => &mut version,
            "id" => {
                ids = ids.saturating_add(1);
                &mut id
            }
            "method" => &mut method,
            "result" => &mut result,
            "error" => &mut error,
            "params" => {
                repeated |= has_params;
                has_params = true;
                return read_params(scan, &mut params, &mut repeated);
            }
            _ => return scan.value(1).map(drop),
        };
        repeated |= slot.is_some();
        *slot = Some(scan.value(1)?);
        Some(())
    })?;
    scan.end()?;

    let is_response = method.is_none() && (result.is_some() || error.is_some());
    let id = id.map_or(Id::Absent, |raw| read_id(raw, limits));
    let name = method.map(unquote).transpose();
    let problem = if repeated {
        "a member is there twice"
    } else if !version.is_some_and(is_2_0) {
        "`jsonrpc` must be \"2.0\""
    } else if name.is_err() {
        "`method` must be a string"
    } else if method.is_some() && id == Id::Invalid {
        "`id` must be a string or an integer, and not too long"
    } else if method.is_some() && (result.is_some() || error.is_some()) {
        "a message has a method or a result, not both"
    } else if result.is_some() && error.is_some() {
        "a response has a result or an error, not both"
    } else if method.is_none() && !is_response {
        "`method` is missing"
    } else {
        return Some(Ok(Incoming::Message(Message {
            id,
            method: name.unwrap_or_default(),
            params,
            result,
            error,
        })));
    };
    let id = id.to_request_id().filter(|_| !is_response && ids == 1);
    Some(Err((id, ErrorObject::invalid_request(problem))))
}

fn read_params<'a>(
    scan: &mut Scan<'a>,
    params: &mut Params<'a>,
    repeated: &mut bool,
) -> Option<()> {
    let start = scan.mark();
    if scan.peek() != Some(b'{') {
        if scan.value(1)? != "null" {
            params.raw = scan.span(start);
        }
        return Some(());
    }
    let Params { members, meta, .. } = params;
    scan.object(1, |scan, key| {
        let Some(member) = Member::named(&name_of(key)) else {
            return scan.value(2).map(drop);
        };
        let start = scan.mark();
        if member == Member::Meta && scan.peek() == Some(b'{') {
            scan.object(2, |scan, key| {
                let member = MetaMember::named(&name_of(key));
                let start = scan.mark();
                scan.value(3)?;
                if let Some(slot) = member.and_then(|member| meta.get_mut(member as usize)) {
                    *repeated |= !slot.is_empty();
                    *slot = scan.span(start);
                }
                Some(())
            })?;
        } else {
            scan.value(2)?;
        }
        if let Some(slot) = members.get_mut(member as usize) {
            *repeated |= !slot.is_empty();
            *slot = scan.span(start);
        }
        Some(())
    })?;
    params.raw = scan.span(start);
    Some(())
}

fn is_2_0(json: &str) -> bool {
    json == "\"2.0\"" || unquote(json).is_ok_and(|text| text == "2.0")
}

/// A key may be written with escapes, and is the same key.
fn name_of(key: Quoted<'_>) -> Cow<'_, str> {
    if key.escaped {
        return unquote(key.json).unwrap_or_default();
    }
    let last = key.json.len().saturating_sub(1);
    Cow::Borrowed(key.json.get(1..last).unwrap_or_default())
}

fn read_id<'a>(raw: &'a str, limits: &Limits) -> Id<'a> {
    let valid = if raw.starts_with('"') {
        raw.len().saturating_sub(2) <= limits.id
    } else {
        raw.parse::<i64>().is_ok()
    };
    if valid { Id::Valid(raw) } else { Id::Invalid }
}
