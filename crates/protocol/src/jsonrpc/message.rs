//! A single message, borrowed from the text that contains it: its envelope, id and `params`, read in one pass.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};
use std::str::Utf8Error;
use std::sync::Arc;

use crate::jsonrpc::ErrorObject;
use crate::jsonrpc::scan::{MAX_DEPTH, ParseLimits, Scan, ScanFailure, Span};
use crate::jsonrpc::text::{NotAString, plain_length, unquote, without_quotes, write_string};

/// The contents of a line or an HTTP body.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "lives on the stack of the code that reads a message; boxing would cost an allocation per message"
)]
pub enum Incoming<'a, M = Message<'a>> {
    /// One message.
    Message(M),
    /// A batch, represented by the text of each element. The batch is not empty, and each element is valid JSON within
    /// the limits.
    Batch(Vec<&'a str>),
}

/// A request, a notification or a response. The caller of [`parse_next`] distinguishes them by their members.
#[derive(Clone, Debug)]
pub struct Message<'a> {
    /// The id, which is absent from a notification.
    pub id: Id,
    /// The method, unescaped.
    pub method: Option<Cow<'a, str>>,
    /// The parameters, which are absent from a response.
    pub params: Params<'a>,
    /// The raw result of a response.
    pub result: Option<&'a str>,
    /// The raw error of a response.
    pub error: Option<&'a str>,
}

impl Message<'_> {
    /// Returns the length of the message's text, in bytes.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        self.params.text().len()
    }
}

/// The `id` member of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Id {
    /// The member is missing.
    Absent,
    /// A valid id.
    Valid(RequestId),
    /// An id that is neither a string nor an integer, or is too large.
    Invalid,
}

impl Id {
    /// Returns the id, if it is valid.
    #[inline]
    #[must_use]
    pub fn valid(&self) -> Option<&RequestId> {
        match self {
            Self::Valid(id) => Some(id),
            Self::Absent | Self::Invalid => None,
        }
    }

    /// Returns a copy of the id, if it is valid.
    #[inline]
    #[must_use]
    pub fn to_request_id(&self) -> Option<RequestId> {
        self.valid().cloned()
    }
}

/// Reads one line or body in a single pass that finds the members of the envelope, `params` and `_meta`, and enforces
/// the limits on depth and size.
///
/// A message with a method has a valid id or no id, and neither a result nor an error. A message without a method has
/// either a result or an error, and its id may be invalid. If `params` is `null`, it counts as absent. A message is
/// rejected if a member that is kept occurs more than once, because two readers could interpret it differently.
///
/// # Errors
///
/// Returns the error to respond with: -32700 if the text is not valid JSON, is not UTF-8 or is nested too deeply;
/// -32600 if it is JSON but not a message, or exceeds another limit. If the message is a request whose id could be
/// read, the id is included. The id of a response is never included, because both sides may use the same ids.
pub fn parse<'a>(text: &'a [u8], limits: &ParseLimits) -> ParseOutcome<'a> {
    parse_with(text, limits, None)
}

/// Like `parse`, but for one of many messages that share the same limits. If the message's `_meta` equals `known`, it
/// is not read again.
///
/// # Errors
///
/// Returns the same errors as `parse`.
pub fn parse_next<'a>(
    text: &'a [u8],
    limits: &ParseLimits,
    known: &mut KnownMeta,
) -> ParseOutcome<'a> {
    parse_with(text, limits, Some(known))
}

fn parse_with<'a>(
    text: &'a [u8],
    limits: &ParseLimits,
    known: Option<&mut KnownMeta>,
) -> ParseOutcome<'a> {
    let text = from_utf8(text).map_err(|error| {
        let message = format!("invalid UTF-8 at byte {}", error.valid_up_to());
        (None, ErrorObject::new(ErrorObject::PARSE_ERROR, message))
    })?;
    if u32::try_from(text.len()).is_err() {
        let message = "the message is 4 GiB or larger";
        return Err((None, ErrorObject::invalid_request(message)));
    }
    let mut scan = Scan::within(text, limits);
    let read = match scan.peek() {
        Some(b'{') => {
            let mut envelope = Envelope::empty(text);
            if envelope.read(&mut scan, known).is_some() {
                return envelope.message(limits);
            }
            None
        }
        Some(b'[') => read_batch(text, &mut scan, limits),
        _ => scan
            .read_value(0)
            .and_then(|_| scan.expect_end())
            .map(|()| {
                Err((
                    None,
                    ErrorObject::invalid_request("a message must be an object"),
                ))
            }),
    };
    read.unwrap_or_else(|| Err(parse_error(text, scan.failure(), limits)))
}

/// Minimum length for which checking UTF-8 in blocks is faster.
const MIN_BLOCK_CHECK_BYTES: usize = 64;

fn from_utf8(text: &[u8]) -> Result<&str, Utf8Error> {
    if text.len() >= MIN_BLOCK_CHECK_BYTES
        && let Ok(text) = simdutf8::basic::from_utf8(text)
    {
        return Ok(text);
    }
    std::str::from_utf8(text)
}

/// Calls `each` for every member of an object that has been read as part of a message. Does nothing if the value is not
/// an object.
pub fn each_member<'a>(object: &'a str, mut each: impl FnMut(&[u8], &'a str)) {
    let mut scan = Scan::new(object);
    scan.read_object(0, |scan, key| {
        each(key, scan.next_value()?);
        Some(())
    });
}

/// The contents of a line or body, or the error to respond with.
type ParseOutcome<'a> = Result<Incoming<'a>, (Option<RequestId>, ErrorObject)>;

fn parse_error(
    text: &str,
    fail: ScanFailure,
    limits: &ParseLimits,
) -> (Option<RequestId>, ErrorObject) {
    let rescued = || {
        if !text.trim_ascii_start().starts_with('{') {
            return None;
        }
        read_id(rescue_id(text)?, limits).to_request_id()
    };
    match fail {
        ScanFailure::Syntax(at) => {
            let message = format!("invalid JSON at byte {at}");
            (None, ErrorObject::new(ErrorObject::PARSE_ERROR, message))
        }
        ScanFailure::Deep => {
            let message = format!(
                "nested deeper than {} levels",
                limits.max_depth.min(MAX_DEPTH)
            );
            (
                rescued(),
                ErrorObject::new(ErrorObject::PARSE_ERROR, message),
            )
        }
        ScanFailure::Long => {
            let message = format!("more than {} values in one message", limits.max_values);
            (rescued(), ErrorObject::invalid_request(message))
        }
    }
}

fn read_batch<'a>(
    text: &'a str,
    scan: &mut Scan<'a>,
    limits: &ParseLimits,
) -> Option<ParseOutcome<'a>> {
    let mut elements = Vec::new();
    let mut count = 0_usize;
    scan.read_array(0, |scan| {
        let element = scan.read_value(1)?;
        count = count.saturating_add(1);
        if count <= limits.max_batch {
            elements.push(element.slice(text));
        }
        Some(())
    })?;
    scan.expect_end()?;
    Some(if count == 0 {
        Err((None, ErrorObject::invalid_request("the batch is empty")))
    } else if count > limits.max_batch {
        let message = format!("more than {} messages in one batch", limits.max_batch);
        Err((None, ErrorObject::invalid_request(message)))
    } else {
        Ok(Incoming::Batch(elements))
    })
}

/// The members of a message, represented by their positions in the text.
struct Envelope<'a> {
    text: &'a str,
    version: Option<Span>,
    id: Option<Span>,
    method: Option<Span>,
    result: Option<Span>,
    error: Option<Span>,
    params: Params<'a>,
    has_params: bool,
    ids: usize,
    /// `true` if any member that is kept occurs more than once.
    repeated: bool,
}

impl<'a> Envelope<'a> {
    fn empty(text: &'a str) -> Self {
        Self {
            text,
            version: None,
            id: None,
            method: None,
            result: None,
            error: None,
            params: Params::absent(text),
            has_params: false,
            ids: 0,
            repeated: false,
        }
    }

    fn read(&mut self, scan: &mut Scan<'a>, mut known: Option<&mut KnownMeta>) -> Option<()> {
        scan.read_object(0, |scan, key| {
            let slot = match key {
                b"jsonrpc" => &mut self.version,
                b"id" => {
                    self.ids = self.ids.saturating_add(1);
                    &mut self.id
                }
                b"method" => &mut self.method,
                b"result" => &mut self.result,
                b"error" => &mut self.error,
                b"params" => {
                    self.repeated |= self.has_params;
                    self.has_params = true;
                    let known = known.as_deref_mut();
                    return self.params.read(scan, known, &mut self.repeated);
                }
                _ => return scan.read_value(1).map(drop),
            };
            self.repeated |= slot.is_some();
            *slot = Some(scan.read_value(1)?);
            Some(())
        })?;
        scan.expect_end()?;
        self.params.is_plain = scan.escaped_string_count() == 0;
        Some(())
    }

    /// Returns the message if the combination of its members is valid.
    fn message(&self, limits: &ParseLimits) -> ParseOutcome<'a> {
        let json = |span: Option<Span>| Some(span?.slice(self.text));
        let (result, error) = (json(self.result), json(self.error));
        let has_method = self.method.is_some();
        let is_response = !has_method && (result.is_some() || error.is_some());
        let id = json(self.id).map_or(Id::Absent, |raw| read_id(raw, limits));
        let name = self.params.text_of(json(self.method));
        let problem = if self.repeated {
            "a member occurs twice"
        } else if !json(self.version).is_some_and(is_2_0) {
            "`jsonrpc` must be \"2.0\""
        } else if name.is_err() {
            "`method` must be a string"
        } else if has_method && id == Id::Invalid {
            "`id` must be a string or an integer, and must not be too long"
        } else if has_method && (result.is_some() || error.is_some()) {
            "a message must not have both a method and a result"
        } else if result.is_some() && error.is_some() {
            "a response must not have both a result and an error"
        } else if !has_method && !is_response {
            "`method` is missing"
        } else {
            return Ok(Incoming::Message(Message {
                id,
                method: name.unwrap_or_default(),
                params: self.params.clone(),
                result,
                error,
            }));
        };
        let id = id.to_request_id();
        let id = id.filter(|_| !is_response && self.ids == 1);
        Err((id, ErrorObject::invalid_request(problem)))
    }
}

fn is_2_0(json: &str) -> bool {
    json == "\"2.0\"" || unquote(json).is_ok_and(|text| text == "2.0")
}

fn read_id(raw: &str, limits: &ParseLimits) -> Id {
    let valid = if raw.starts_with('"') {
        raw.len().saturating_sub(2) <= limits.max_id_bytes
    } else {
        raw.parse::<i64>().is_ok()
    };
    if valid {
        Id::Valid(RequestId::from_valid(raw))
    } else {
        Id::Invalid
    }
}

// --- `params`, read together with the members that the protocol uses.

/// Defines an enum of members, with their names on the wire and conversions in both directions.
macro_rules! members {
    ($(#[$doc:meta])* $kind:ident { $($member:ident = $name:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $kind {
            $(#[doc = concat!("`", $name, "`")] $member,)+
        }

        impl $kind {
            const COUNT: usize = [$($name),+].len();

            /// Returns the name used on the wire.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$member => $name,)+
                }
            }

            fn named(name: &[u8]) -> Option<Self> {
                Some(match name {
                    $(name if name == $name.as_bytes() => Self::$member,)+
                    _ => return None,
                })
            }
        }
    };
}

members! {
    /// Members of `params` that are recorded while a message is read.
    Member {
        Name = "name",
        Uri = "uri",
        Cursor = "cursor",
        Arguments = "arguments",
        Ref = "ref",
        Argument = "argument",
        Context = "context",
        Level = "level",
        RequestId = "requestId",
        ProtocolVersion = "protocolVersion",
        Capabilities = "capabilities",
        ClientInfo = "clientInfo",
        Notifications = "notifications",
        InputResponses = "inputResponses",
        RequestState = "requestState",
        Task = "task",
        Meta = "_meta",
    }
}

members! {
    /// Members of `params._meta` that are recorded. The first is the claim that makes a message modern.
    MetaMember {
        ProtocolVersion = "io.modelcontextprotocol/protocolVersion",
        ClientCapabilities = "io.modelcontextprotocol/clientCapabilities",
        ClientInfo = "io.modelcontextprotocol/clientInfo",
        LogLevel = "io.modelcontextprotocol/logLevel",
        ProgressToken = "progressToken",
    }
}

/// The `_meta` from the previous message, with the members found in it. Most clients send the same `_meta` in every
/// request, so this avoids reading the same bytes again.
#[derive(Debug, Default)]
pub struct KnownMeta {
    /// The object as valid JSON without backslashes. Empty if there is no known `_meta`.
    text: String,
    /// Number of values in `text`.
    nodes: usize,
    /// Positions in `text`.
    members: [Option<Span>; MetaMember::COUNT],
}

impl KnownMeta {
    /// Maximum length of a known `_meta`, in bytes. A longer one is parsed every time.
    const MAX_BYTES: usize = 2 << 10;
}

/// The raw `params`, together with the positions of the members that the protocol uses.
#[derive(Clone, Debug)]
pub struct Params<'a> {
    /// The text of the message. Members are stored as positions in this text because positions are half the size of
    /// slices and this struct is moved often.
    text: &'a str,
    /// `true` if no string in the message contains a backslash.
    pub(super) is_plain: bool,
    raw: Option<Span>,
    members: [Option<Span>; Member::COUNT],
    meta: [Option<Span>; MetaMember::COUNT],
}

impl<'a> Params<'a> {
    /// Creates the value for a message without `params`.
    pub(super) fn absent(text: &'a str) -> Self {
        Self {
            text,
            is_plain: false,
            raw: None,
            members: [None; Member::COUNT],
            meta: [None; MetaMember::COUNT],
        }
    }

    /// Returns the text of the message.
    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// Returns these `params` in another copy of the text.
    pub(super) fn in_copy<'b>(&self, text: &'b str) -> Params<'b> {
        Params { text, ..*self }
    }

    /// Reads the value of `params`. Sets `repeated` if a member that is kept occurs more than once.
    pub(super) fn read(
        &mut self,
        scan: &mut Scan<'a>,
        mut known: Option<&mut KnownMeta>,
        repeated: &mut bool,
    ) -> Option<()> {
        let start = scan.next_value_start();
        if scan.peek() != Some(b'{') {
            let raw = scan.read_value(1)?;
            self.raw = Some(raw).filter(|raw| raw.slice(self.text) != "null");
            return Some(());
        }
        scan.read_object(1, |scan, key| {
            let Some(member) = Member::named(key) else {
                return scan.read_value(2).map(drop);
            };
            let value = if member == Member::Meta && scan.peek() == Some(b'{') {
                self.read_meta(scan, known.as_deref_mut(), repeated)?
            } else {
                scan.read_value(2)?
            };
            if let Some(slot) = self.members.get_mut(member as usize) {
                *repeated |= slot.is_some();
                *slot = Some(value);
            }
            Some(())
        })?;
        self.raw = scan.span(start);
        Some(())
    }

    /// Reads `_meta`, which must be an object, or skips it if it equals the known `_meta`.
    fn read_meta(
        &mut self,
        scan: &mut Scan<'a>,
        known: Option<&mut KnownMeta>,
        repeated: &mut bool,
    ) -> Option<Span> {
        let start = scan.next_value_start();
        if let Some(known) = &known
            && scan.skip_if_next(&known.text, known.nodes)
        {
            self.meta = known.members.map(|span| span?.after(start));
            return scan.span(start);
        }
        let (nodes, escaped) = (scan.nodes(), scan.escaped_string_count());
        let meta = &mut self.meta;
        scan.read_object(2, |scan, key| {
            let member = MetaMember::named(key);
            let value = scan.read_value(3)?;
            if let Some(slot) = member.and_then(|member| meta.get_mut(member as usize)) {
                *repeated |= slot.is_some();
                *slot = Some(value);
            }
            Some(())
        })?;
        let meta_span = scan.span(start)?;
        let text = meta_span.slice(self.text);
        if let Some(known) = known
            && text.len() <= KnownMeta::MAX_BYTES
            && scan.escaped_string_count() == escaped
            && !*repeated
        {
            known.text.clear();
            known.text.push_str(text);
            known.nodes = nodes.saturating_sub(scan.nodes());
            known.members = self.meta.map(|span| span?.within(start));
        }
        Some(meta_span)
    }

    /// Returns the raw JSON of `params`, if present.
    #[inline]
    #[must_use]
    pub fn raw(&self) -> Option<&'a str> {
        Some(self.raw?.slice(self.text))
    }

    /// Returns `true` if `params` is absent or an object.
    #[inline]
    #[must_use]
    pub fn is_object(&self) -> bool {
        self.raw().is_none_or(|raw| raw.starts_with('{'))
    }

    /// Returns the raw JSON of a member. `null` counts as absent, because some clients send it instead of omitting a
    /// member.
    #[inline]
    #[must_use]
    pub fn get(&self, member: Member) -> Option<&'a str> {
        let json = (*self.members.get(member as usize)?)?.slice(self.text);
        (json != "null").then_some(json)
    }

    /// Returns the raw JSON of a member of `_meta`.
    #[inline]
    #[must_use]
    pub fn meta(&self, member: MetaMember) -> Option<&'a str> {
        Some((*self.meta.get(member as usize)?)?.slice(self.text))
    }

    /// Returns the unescaped text of a member that must be a string, or an error if the member is present but not a
    /// string.
    #[inline]
    pub fn string(&self, member: Member) -> Result<Option<Cow<'a, str>>, NotAString> {
        self.text_of(self.get(member))
    }

    /// Returns the unescaped text of a member of `_meta` that must be a string, or an error if the member is present
    /// but not a string.
    #[inline]
    pub fn meta_string(&self, member: MetaMember) -> Result<Option<Cow<'a, str>>, NotAString> {
        self.text_of(self.meta(member))
    }

    /// Returns the text of a JSON string in the message.
    pub(super) fn text_of(
        &self,
        json: Option<&'a str>,
    ) -> Result<Option<Cow<'a, str>>, NotAString> {
        let text = |json| {
            if self.is_plain {
                without_quotes(json).map(Cow::Borrowed)
            } else {
                unquote(json)
            }
        };
        json.map(text).transpose()
    }
}

// --- The id of a message that could not be read, for use in the error response.

/// Returns the value of `id`, as JSON text, from a request that is too deeply nested or too long to be read in full.
///
/// Values are skipped by matching brackets without validating the contents, so the id must be used only for an error
/// response. Returns `None` for a response, for a message with more than one id, and for a message in which a member's
/// name contains an escape, because the decoded name could be a second `id`.
pub(super) fn rescue_id(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0_usize, 0_usize);
    let (mut id, mut requests) = (None, false);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let (start, mut escaped) = (at, false);
                at += 1;
                loop {
                    at += plain_length(bytes.get(at..)?);
                    match bytes.get(at)? {
                        b'"' => break,
                        b'\\' => {
                            escaped = true;
                            at += 2;
                        }
                        _ => return None,
                    }
                }
                let rest = text.get(at + 1..)?.trim_ascii_start();
                if let (1, Some(value)) = (depth, rest.strip_prefix(':')) {
                    if escaped {
                        return None;
                    }
                    match text.get(start..=at)? {
                        "\"method\"" => requests = true,
                        "\"result\"" | "\"error\"" => return None,
                        "\"id\"" if id.is_some() => return None,
                        "\"id\"" => id = Some(value),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        at += 1;
    }
    let id = id.filter(|_| requests && depth == 0)?;
    Scan::scalar(id).next_value()
}

// --- A request that owns its text.

/// A request with a copy of its text, for calls that wait. Its members keep their positions, so the text is not parsed
/// again.
#[derive(Debug)]
pub struct OwnedRequest {
    text: Box<str>,
    id: RequestId,
    method: Box<str>,
    params: Params<'static>,
}

impl OwnedRequest {
    /// Copies a request whose id is `id`.
    #[must_use]
    pub fn new(id: &RequestId, request: &Message<'_>) -> Self {
        Self {
            text: request.params.text().into(),
            id: id.clone(),
            method: request.method.as_deref().unwrap_or_default().into(),
            params: request.params.in_copy(""),
        }
    }

    /// Returns the request's id.
    #[must_use]
    pub fn id(&self) -> &RequestId {
        &self.id
    }

    /// Returns the length of the request's text, in bytes.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        self.text.len()
    }

    /// Returns the request as a message.
    #[must_use]
    pub fn message(&self) -> Message<'_> {
        Message {
            id: Id::Valid(self.id.clone()),
            method: Some((&*self.method).into()),
            params: self.params.in_copy(&self.text),
            result: None,
            error: None,
        }
    }
}

// --- Request ids, which are echoed unchanged and compared by type and value.

/// The id of a request: a 64-bit integer or a string.
///
/// `1` and `"1"` are different ids; `"a"` and `"\u0061"` are the same. Ids are written back byte for byte as received.
#[derive(Clone)]
pub struct RequestId(IdRepr);

#[derive(Clone)]
enum IdRepr {
    /// A short id, stored without an allocation. Most clients use consecutive numbers, which fit. This variant holds
    /// only ids that can be written in exactly one way, so that they can be compared byte by byte.
    Short {
        text: [u8; MAX_SHORT_BYTES],
        length: u8,
    },
    /// Any other id, stored behind a thin pointer so that an id is no larger than two words.
    Long(Arc<String>),
}

/// Maximum length that fits into two words. Clients that start counting at the current time in milliseconds need 13
/// bytes.
const MAX_SHORT_BYTES: usize = 14;

impl RequestId {
    /// Returns the id as sent on the wire, including quotes and escapes.
    #[inline]
    #[must_use]
    pub fn as_json(&self) -> &str {
        match &self.0 {
            IdRepr::Short { .. } => std::str::from_utf8(self.as_bytes()).unwrap_or_default(),
            IdRepr::Long(text) => text,
        }
    }

    /// Like [`as_json`](Self::as_json), but returns bytes, which is cheaper.
    #[inline]
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            IdRepr::Short { text, length } => text.get(..usize::from(*length)).unwrap_or_default(),
            IdRepr::Long(text) => text.as_bytes(),
        }
    }

    /// Parses an id from a JSON value. Returns `None` if the value cannot be an id.
    #[must_use]
    pub fn parse(json: &str) -> Option<Self> {
        let valid = json.starts_with('"') || json.parse::<i64>().is_ok();
        valid.then(|| Self::from_valid(json))
    }

    /// Creates an id from JSON text that is known to be a valid id.
    #[must_use]
    pub fn from_valid(json: &str) -> Self {
        let mut text = [0; MAX_SHORT_BYTES];
        match (text.get_mut(..json.len()), u8::try_from(json.len())) {
            (Some(start), Ok(length)) if !has_other_spellings(json) => {
                start.copy_from_slice(json.as_bytes());
                Self(IdRepr::Short { text, length })
            }
            _ => Self(IdRepr::Long(Arc::new(json.to_owned()))),
        }
    }

    /// Returns the canonical form of this id.
    fn canonical(&self) -> Cow<'_, [u8]> {
        let json = self.as_bytes();
        if matches!(self.0, IdRepr::Short { .. }) || !has_other_spellings(self.as_json()) {
            return Cow::Borrowed(json);
        }
        match unquote(self.as_json()) {
            Ok(text) => {
                let mut out = Vec::with_capacity(json.len());
                write_string(&mut out, &text);
                Cow::Owned(out)
            }
            // `-0` is the only number that can be written in more than one way.
            Err(_) => Cow::Borrowed(b"0"),
        }
    }
}

/// Returns `true` if the id can be written in more than one way, as is the case for `-0` and for strings with escapes.
fn has_other_spellings(json: &str) -> bool {
    json == "-0" || (json.starts_with('"') && json.as_bytes().contains(&b'\\'))
}

impl std::fmt::Debug for RequestId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RequestId").field(&self.as_json()).finish()
    }
}

impl PartialEq for RequestId {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (
                IdRepr::Short { text, length },
                IdRepr::Short {
                    text: other,
                    length: other_length,
                },
            ) => text == other && length == other_length,
            _ => self.canonical() == other.canonical(),
        }
    }
}

impl Eq for RequestId {}

impl Hash for RequestId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(&self.canonical());
    }
}

#[cfg(test)]
mod tests {
    mod message {
        use crate::jsonrpc::message::*;

        #[test]
        fn an_owned_request_has_the_members_of_the_borrowed_one() {
            let text = r#"{"jsonrpc":"2.0","id":"a\n","method":"tools\/call","params":{"name":"caf\u00e9",
            "arguments":{"x":1},"_meta":{"progressToken":7}}}"#;
            let Ok(Incoming::Message(request)) = parse(text.as_bytes(), &ParseLimits::ROOMY) else {
                panic!("not a message");
            };
            let owned = OwnedRequest::new(request.id.valid().unwrap(), &request);
            assert_eq!(owned.text_bytes(), text.len());
            assert_eq!(Some(owned.id()), request.id.valid());
            let copy = owned.message();
            assert_eq!(copy.id, request.id);
            assert_eq!(copy.method.as_deref(), Some("tools/call"));
            assert_eq!(copy.params.raw(), request.params.raw());
            let name = copy.params.string(Member::Name).unwrap();
            assert_eq!(name.as_deref(), Some("café"));
            assert_eq!(copy.params.get(Member::Arguments), Some(r#"{"x":1}"#));
            assert_eq!(copy.params.meta(MetaMember::ProgressToken), Some("7"));
        }
    }

    mod id {
        use crate::jsonrpc::message::*;

        #[test]
        fn ids_are_compared_by_type_and_value_and_echoed_unchanged() {
            for (a, b, equal) in [
                ("1", "1", true),
                ("1", "\"1\"", false),
                ("0", "-0", true),
                (r#""a""#, r#""\u0061""#, true),
                (r#""a\/b""#, r#""a/b""#, true),
                (r#""\n""#, r#""\u000a""#, true),
                (r#""a""#, r#""A""#, false),
                (r#""""#, "0", false),
                ("-9223372036854775808", "9223372036854775807", false),
                (
                    r#""a longer id than most""#,
                    r#""\u0061 longer id than most""#,
                    true,
                ),
                (r#""eleven üöä""#, r#""eleven üöä""#, true),
            ] {
                let (one, other) = (RequestId::from_valid(a), RequestId::from_valid(b));
                assert_eq!(one == other, equal, "{a} {b}");
                assert_eq!((one.as_json(), other.as_json()), (a, b));
            }
        }
    }
}
