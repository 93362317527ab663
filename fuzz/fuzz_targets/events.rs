//! Event streams: the test client can read the events that the server writes, however they are split into pieces.
//! Input: the length of the pieces, and a stream, which is also used as the content of messages.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_runtime::fuzzing::{read_event_id, write_event};

#[path = "../../tests/src/events.rs"]
mod events;

use events::{Event, Events};

fuzz_target!(|data: (u8, Option<(u64, u64)>, &str)| {
    let (size, id, text) = data;
    let whole = read(text.len(), text.as_bytes());
    assert_eq!(read(usize::from(size), text.as_bytes()), whole);
    assert_eq!(read(1, text.as_bytes()), whole);
    // The end of a line may be written in three ways.
    if !text.contains('\r') {
        for end in ["\r", "\r\n"] {
            assert_eq!(read(text.len(), text.replace('\n', end).as_bytes()), whole);
        }
    }
    for (stream, place) in whole
        .iter()
        .filter_map(|event| read_event_id(event.id.as_ref()?))
    {
        assert_eq!(
            read_event_id(&format!("{stream}:{place}")),
            Some((stream, place))
        );
    }

    let mut out = Vec::new();
    write_event(&mut out, id, "message", text.as_bytes());
    write_event(&mut out, None, "endpoint", b"/messages");
    let found = read(usize::from(size), &out);
    let id = id.map(|(stream, place)| format!("{stream}:{place}"));
    assert_eq!(id.as_deref().and_then(read_event_id), data.1);
    let message = Event {
        id,
        name: "message".into(),
        data: text.replace(['\n', '\r'], " "),
        retry: None,
    };
    let endpoint = Event {
        name: "endpoint".into(),
        data: "/messages".into(),
        ..Event::default()
    };
    assert_eq!(found, [message, endpoint]);
});

/// Returns the events of a stream that arrives in pieces of this length.
fn read(size: usize, stream: &[u8]) -> Vec<Event> {
    let mut events = Events::default();
    for piece in stream.chunks(size.max(1)) {
        events.push(piece);
    }
    std::iter::from_fn(|| events.pop()).collect()
}
