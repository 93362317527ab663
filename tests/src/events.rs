//! Server-sent events, out of the bytes of a stream.
//!
//! Uses nothing else of this crate, because a fuzz target takes this file alone. Specification: the HTML standard,
//! "Server-sent events".

use std::collections::VecDeque;

/// An event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Its id.
    pub id: Option<String>,
    /// Its name.
    pub name: String,
    /// Its data.
    pub data: String,
    /// When to come back.
    pub retry: Option<String>,
}

/// Cuts a stream into events, in whatever pieces it comes.
#[derive(Debug, Default)]
pub struct Events {
    /// The line that has begun.
    line: Vec<u8>,
    /// The last byte was `\r`, which a `\n` belongs to.
    returned: bool,
    /// The event that has begun, without its data.
    event: Option<Event>,
    data: Vec<String>,
    ready: VecDeque<Event>,
}

impl Events {
    /// Takes the next bytes.
    ///
    /// # Panics
    ///
    /// If a line is not UTF-8.
    pub fn push(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                b'\n' if self.returned => {}
                b'\n' | b'\r' => self.end_line(),
                other => self.line.push(*other),
            }
            self.returned = *byte == b'\r';
        }
    }

    /// The next whole event. One that holds no data counts; comments do not.
    pub fn pop(&mut self) -> Option<Event> {
        self.ready.pop_front()
    }

    fn end_line(&mut self) {
        let line = String::from_utf8(std::mem::take(&mut self.line)).expect("events are UTF-8");
        if line.is_empty() {
            if let Some(mut event) = self.event.take() {
                event.data = std::mem::take(&mut self.data).join("\n");
                self.ready.push_back(event);
            }
            return;
        }
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        if name.is_empty() {
            return;
        }
        let event = self.event.get_or_insert_default();
        let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
        match name {
            "id" => event.id = Some(value),
            "event" => event.name = value,
            "data" => self.data.push(value),
            "retry" => event.retry = Some(value),
            _ => {}
        }
    }
}
