//! Reads a session's stream from any position that is still kept.

use std::sync::Arc;
use std::task::Context;

use crate::http::response::body::{MAX_POLLED_BYTES, StreamStatus};
use crate::http::response::sse;
use crate::http::streams::session_stream::{Resumption, SessionStream};

impl SessionStream {
    /// Returns a reader for the events starting at `position`, or `None` if the event at `position` is no longer kept
    /// or `position` was never reached.
    pub(in crate::http) fn new_reader(
        self: &Arc<Self>,
        position: u64,
        primes: bool,
    ) -> Option<StreamReader> {
        let mut log = self.log();
        if position < log.first || position > log.next {
            return None;
        }
        log.reader = log.reader.wrapping_add(1);
        if position > 1 || !primes {
            log.close_at = None;
        }
        if let Some(waker) = log.waker.take() {
            waker.wake();
        }
        Some(StreamReader {
            stream: Arc::clone(self),
            me: log.reader,
            position,
            primes: (primes && self.properties.resumption == Resumption::Primed).then_some(0),
        })
    }
}

/// A reader for a stream.
pub(in crate::http) struct StreamReader {
    pub(in crate::http) stream: Arc<SessionStream>,
    me: u64,
    position: u64,
    /// The position of the event whose id is sent first, in an event that contains nothing else.
    primes: Option<u64>,
}

impl StreamReader {
    /// Sends the id of the last event that the client has received once more, before anything else. Some clients only
    /// remember ids that they have received on the present connection, which may also be cut.
    pub(in crate::http) fn repeating_last_id(mut self) -> Self {
        self.primes = self.position.checked_sub(1);
        self
    }

    /// Returns `true` if there is no newer reader.
    pub(in crate::http) fn is_current(&self) -> bool {
        self.stream.log().reader == self.me
    }

    /// Appends the available events. `Ended` means that the connection ends, although the stream may continue.
    pub(in crate::http) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        out: &mut Vec<u8>,
    ) -> StreamStatus {
        let stream = &self.stream;
        let mut log = stream.log();
        if log.reader != self.me {
            return StreamStatus::Ended;
        }
        if let Some(position) = self.primes
            && log.readable() > 0
        {
            self.primes = None;
            sse::write_priming_event(out, stream.event_id(position));
        }
        let end = log.close_at.unwrap_or(log.next).min(log.next);
        while self.position < end.min(log.readable()) && out.len() < MAX_POLLED_BYTES {
            let Some(event) = log.event(self.position) else {
                // The event was dropped; only events that have already been read can be dropped.
                return StreamStatus::Ended;
            };
            let id = stream
                .is_resumable()
                .then(|| stream.event_id(self.position));
            sse::write_event(out, id, "message", event);
            let size = event.len();
            self.position = self.position.saturating_add(1);
            if self.position > log.read {
                log.read = self.position;
                log.unread_bytes = log.unread_bytes.saturating_sub(size);
            }
        }
        log.drop_oldest_events(stream.bounds);
        if self.position >= end && log.close_at.is_some() && self.primes.is_none() {
            log.close_at = None;
            return StreamStatus::Ended;
        }
        if self.position >= log.next && log.awaited == 0 {
            return StreamStatus::Ended;
        }
        if out.is_empty() {
            log.waker = Some(cx.waker().clone());
        }
        StreamStatus::Open
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::{ByteBudget, Holder};
    use crate::http::streams::session_stream::StreamProperties;
    use crate::limits::Limits;

    #[test]
    fn an_event_is_delivered_once_it_has_been_both_read_and_stored() {
        let properties = StreamProperties {
            takes_events: true,
            resumption: Resumption::ById,
            is_stored: true,
        };
        let charge = ByteBudget::new(1_000).charge(&Holder::Anonymous(None));
        let stream = SessionStream::new(2, properties, 1, (&Limits::default(), charge));
        let stream = Arc::new(stream);
        stream.push(b"{}".as_slice().into());
        let mut reader = stream.new_reader(1, false).unwrap();
        let mut read = || {
            let mut out = Vec::new();
            reader.poll(&mut Context::from_waker(std::task::Waker::noop()), &mut out);
            !out.is_empty()
        };
        assert!(!read(), "it has not been stored");
        stream.mark_store_away();
        assert!(read());
        assert!(!stream.is_delivered());
        stream.mark_stored(2);
        assert!(stream.is_delivered());
        stream.push(b"{}".as_slice().into());
        assert!(!read(), "the store is back");
        stream.mark_stored(3);
        assert!(!stream.is_delivered());
        assert!(read());
        assert!(stream.is_delivered());
    }
}
