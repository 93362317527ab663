//! Parses server-sent events from the bytes of a stream.
//!
//! This file is independent of the rest of the crate, because a fuzz target includes only this file. Specification: the
//! HTML standard, "Server-sent events".

use std::collections::VecDeque;

/// A server-sent event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Its id.
    pub id: Option<String>,
    /// Its name.
    pub name: String,
    /// Its data.
    pub data: String,
    /// The delay before reconnecting.
    pub retry: Option<String>,
}

/// Splits a stream, which may arrive in pieces of any size, into events.
#[derive(Debug, Default)]
pub struct Events {
    /// The line that is still incomplete.
    line: Vec<u8>,
    /// `true` if the last byte was `\r`, which may be followed by a `\n`.
    returned: bool,
    /// The event that is still incomplete, without its data.
    event: Option<Event>,
    data: Vec<String>,
    ready: VecDeque<Event>,
}

impl Events {
    /// Adds the next bytes.
    ///
    /// # Panics
    ///
    /// Panics if a line is not UTF-8.
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

    /// Returns the next complete event, if there is one. Events without data are returned; comments are skipped.
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
