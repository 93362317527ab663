//! Reads a stream of server-sent events.

/// Maximum length of an event.
const MAX_EVENT: usize = super::MAX_MESSAGE;

/// The content of an event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) data: String,
}

/// The state between two chunks of a stream.
#[derive(Debug, Default)]
pub(super) struct Events {
    line: Vec<u8>,
    data: Vec<u8>,
    after_return: bool,
    /// The last event id, from which a stream is resumed.
    pub(super) last_id: Option<String>,
}

impl Events {
    /// Reads a chunk and returns the events that are complete.
    pub(super) fn read(&mut self, chunk: &[u8]) -> Result<Vec<Event>, String> {
        let mut events = Vec::new();
        for byte in chunk {
            let newline = *byte == b'\n' && !self.after_return;
            self.after_return = *byte == b'\r';
            if self.after_return || newline {
                events.extend(self.end_of_line());
            } else if *byte != b'\n' {
                self.line.push(*byte);
                if self.line.len() + self.data.len() > MAX_EVENT {
                    return Err(format!("an event is larger than {} MiB", MAX_EVENT >> 20));
                }
            }
        }
        Ok(events)
    }

    fn end_of_line(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            let mut data = std::mem::take(&mut self.data);
            // Each line of the data ends with a line feed, but the last line feed is not part of the data.
            data.pop();
            let data = String::from_utf8_lossy(&data).into_owned();
            return (!data.is_empty()).then_some(Event { data });
        }
        let at = line.iter().position(|byte| *byte == b':');
        let (name, value) = line.split_at(at.unwrap_or(line.len()));
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => {
                self.data.extend_from_slice(value);
                self.data.push(b'\n');
            }
            b"id" => self.last_id = Some(String::from_utf8_lossy(value).into_owned()),
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_from_chunks_of_any_size() {
        let stream =
            b": hello\r\nid: 7\r\ndata: {\r\ndata:}\r\n\r\nevent: x\n\ndata: 2\n\rdata: 3\r\r";
        for size in 1..stream.len() {
            let mut events = Events::default();
            let mut read = Vec::new();
            for chunk in stream.chunks(size) {
                read.extend(events.read(chunk).unwrap());
            }
            let read: Vec<_> = read.iter().map(|event| event.data.as_str()).collect();
            assert_eq!(read, ["{\n}", "2", "3"], "{size}");
            assert_eq!(events.last_id.as_deref(), Some("7"));
        }
    }

    #[test]
    fn an_endless_event_is_refused() {
        let mut events = Events::default();
        let chunk = vec![b'x'; MAX_EVENT / 2 + 1];
        events.read(&chunk).unwrap();
        assert!(events.read(&chunk).is_err());
    }
}
