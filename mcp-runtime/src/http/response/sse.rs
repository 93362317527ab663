//! Writes server-sent events.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::jsonrpc::RequestId;

/// Approximate size of an event without its data, in bytes.
const FRAME: usize = 64;

/// Maximum length of a request id that is included in event ids, in bytes of JSON.
const MAX_REQUEST_BYTES: usize = 64;

/// The id of an event, from which a client can resume the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) struct EventId<'a> {
    pub(in crate::http) stream: u64,
    /// The event's position in the stream.
    pub(in crate::http) position: u64,
    /// The request whose answer the stream will carry, [encoded](encode_request). This lets any instance answer the
    /// request if the instance that should have done so is gone.
    pub(in crate::http) request: Option<&'a str>,
}

/// Returns a request's id in the form used in event ids, unless the id is too long.
pub(in crate::http) fn encode_request(id: &RequestId) -> Option<Box<str>> {
    let json = id.as_json();
    (json.len() <= MAX_REQUEST_BYTES).then(|| URL_SAFE_NO_PAD.encode(json).into())
}

/// Decodes a request's id from the form used in event ids.
pub(in crate::http) fn decode_request(request: &str) -> Option<RequestId> {
    let json = String::from_utf8(URL_SAFE_NO_PAD.decode(request).ok()?).ok()?;
    RequestId::parse(&json)
}

/// Appends an event. `id` is sent to clients that can resume the stream.
pub(in crate::http) fn write_event(
    out: &mut Vec<u8>,
    id: Option<EventId<'_>>,
    name: &str,
    data: &[u8],
) {
    if let Some(id) = id {
        write_id(out, id);
    }
    out.reserve(data.len().saturating_add(FRAME));
    out.extend_from_slice(b"event: ");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\ndata: ");
    let start = out.len();
    out.extend_from_slice(data);
    // In JSON, a line break between tokens is equivalent to a space, and strings cannot contain line breaks.
    if memchr::memchr2(b'\n', b'\r', data).is_some() {
        for byte in out.iter_mut().skip(start) {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }
    out.extend_from_slice(b"\n\n");
}

/// Returns the messages in `lines`, each of which ends with a newline.
pub(in crate::http) fn split_messages(lines: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut start = 0;
    memchr::memchr_iter(b'\n', lines).filter_map(move |end| {
        let line = lines.get(start..end);
        start = end.saturating_add(1);
        line.filter(|line| !line.is_empty())
    })
}

/// Appends an event that contains only the id to resume from and the reconnection delay.
pub(in crate::http) fn write_priming_event(out: &mut Vec<u8>, id: EventId<'_>) {
    write_id(out, id);
    out.extend_from_slice(b"retry: 500\ndata:\n\n");
}

/// A comment that keeps intermediaries from closing a silent stream.
pub(super) const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

fn write_id(out: &mut Vec<u8>, id: EventId<'_>) {
    let EventId {
        stream, position, ..
    } = id;
    // Writing to memory cannot fail.
    let _ = match id.request {
        Some(request) => writeln!(out, "id: {stream}:{position}:{request}"),
        None => writeln!(out, "id: {stream}:{position}"),
    };
}

/// Parses an event id.
pub(in crate::http) fn parse_event_id(id: &str) -> Option<EventId<'_>> {
    let (stream, rest) = id.split_once(':')?;
    let (position, request) = match rest.split_once(':') {
        Some((position, request)) => (position, Some(request)),
        None => (rest, None),
    };
    if request.is_some_and(|request| decode_request(request).is_none()) {
        return None;
    }
    let is_plain = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_plain(stream) && is_plain(position)).then_some(())?;
    Some(EventId {
        stream: stream.parse().ok()?,
        position: position.parse().ok()?,
        request,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(request: Option<&str>) -> EventId<'_> {
        EventId {
            stream: 3,
            position: 7,
            request,
        }
    }

    #[test]
    fn an_event_is_one_line_of_data_whatever_the_message_looks_like() {
        let mut out = Vec::new();
        write_event(&mut out, Some(id(None)), "message", b"{\"a\":\r\n1}");
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "id: 3:7\nevent: message\ndata: {\"a\":  1}\n\n"
        );
    }

    #[test]
    fn event_ids_are_read_as_they_were_written_and_nothing_else_is() {
        for request in ["7", "\"a b\""] {
            let request = encode_request(&RequestId::from_valid(request)).unwrap();
            let mut out = Vec::new();
            write_id(&mut out, id(Some(&request)));
            let written = String::from_utf8(out).unwrap();
            let written = written.trim_end().strip_prefix("id: ").unwrap();
            assert_eq!(parse_event_id(written), Some(id(Some(&request))));
        }
        let long = format!("\"{}\"", "a".repeat(63));
        assert_eq!(encode_request(&RequestId::from_valid(&long)), None);
        assert_eq!(parse_event_id("3:7"), Some(id(None)));
        for id in [
            "",
            "3",
            ":",
            "3:",
            ":7",
            "+3:7",
            "3:7:",
            "3:7:1",
            "3:7:bnVsbA",
            "3:7:Nw:1",
            "3: 7",
            "99999999999999999999:1",
        ] {
            assert_eq!(parse_event_id(id), None, "{id}");
        }
    }
}
