//! Writes server-sent events.

use std::io::Write as _;

/// Approximate size of an event without its data, in bytes.
const FRAME: usize = 64;

/// Appends an event. `id` is sent to clients that can resume the stream; it consists of the stream's number and the
/// event's position in the stream.
pub(in crate::http) fn write_event(
    out: &mut Vec<u8>,
    id: Option<(u64, u64)>,
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

/// Returns the messages in `lines`, where each message ends with a newline.
pub(in crate::http) fn split_messages(lines: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut start = 0;
    memchr::memchr_iter(b'\n', lines).filter_map(move |end| {
        let line = lines.get(start..end);
        start = end.saturating_add(1);
        line.filter(|line| !line.is_empty())
    })
}

/// Appends an event that contains only the id to resume from and the reconnection delay.
pub(in crate::http) fn write_priming_event(out: &mut Vec<u8>, id: (u64, u64)) {
    write_id(out, id);
    out.extend_from_slice(b"retry: 500\ndata:\n\n");
}

/// A comment that keeps intermediaries from closing a silent stream.
pub(super) const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

fn write_id(out: &mut Vec<u8>, (stream, position): (u64, u64)) {
    // Writing to memory cannot fail.
    let _ = writeln!(out, "id: {stream}:{position}");
}

/// Parses an event id.
pub(in crate::http) fn parse_event_id(id: &str) -> Option<(u64, u64)> {
    let (stream, position) = id.split_once(':')?;
    let is_plain = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_plain(stream) && is_plain(position)).then_some(())?;
    Some((stream.parse().ok()?, position.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_of_data_whatever_the_message_looks_like() {
        let mut out = Vec::new();
        write_event(&mut out, Some((3, 7)), "message", b"{\"a\":\r\n1}");
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "id: 3:7\nevent: message\ndata: {\"a\":  1}\n\n"
        );
    }

    #[test]
    fn event_ids_are_read_as_they_were_written_and_nothing_else_is() {
        assert_eq!(parse_event_id("3:7"), Some((3, 7)));
        for id in [
            "",
            "3",
            ":",
            "3:",
            ":7",
            "+3:7",
            "3:7:1",
            "3: 7",
            "99999999999999999999:1",
        ] {
            assert_eq!(parse_event_id(id), None, "{id}");
        }
    }
}
