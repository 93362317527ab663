//! A single message, borrowed from the text that contains it.

use std::borrow::Cow;
use std::str::Utf8Error;

use crate::jsonrpc::params::{KnownMeta, Params};
use crate::jsonrpc::rescue::rescue_id;
use crate::jsonrpc::scan::{MAX_DEPTH, Scan, ScanFailure, Span};
use crate::jsonrpc::{ErrorObject, ParseLimits, RequestId, unquote};

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
