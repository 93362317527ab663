//! The content types that a client accepts, from its `Accept` headers.

use hyper::header::HeaderValue;

/// The content types that a client accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) struct AcceptedContentTypes {
    pub(in crate::http) json: bool,
    pub(in crate::http) events: bool,
}

impl AcceptedContentTypes {
    /// Used for clients that do not send an `Accept` header.
    pub(super) const EVERYTHING: Self = Self {
        json: true,
        events: true,
    };
    pub(super) const NOTHING: Self = Self {
        json: false,
        events: false,
    };

    /// Adds the content types in an `Accept` header.
    pub(super) fn add_accept_header(&mut self, accept: &HeaderValue) {
        // Fast path for the value that clients usually send.
        if accept.as_bytes() == b"application/json, text/event-stream" {
            *self = Self::EVERYTHING;
            return;
        }
        for range in accept.as_bytes().split(|byte| *byte == b',') {
            let mut parts = range.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
            let kind = parts.next().unwrap_or_default();
            if parts.any(has_zero_weight) {
                continue;
            }
            let is = |name: &[u8]| kind.eq_ignore_ascii_case(name);
            let is_any = is(b"*/*");
            self.json |= is_any || is(b"application/json") || is(b"application/*");
            self.events |= is_any || is(b"text/event-stream") || is(b"text/*");
        }
    }
}

/// Returns `true` for a weight of zero, which means that the client does not accept this content type.
fn has_zero_weight(parameter: &[u8]) -> bool {
    let weight = parameter
        .strip_prefix(b"q=")
        .or_else(|| parameter.strip_prefix(b"Q="));
    let weight = weight.and_then(|weight| std::str::from_utf8(weight).ok());
    weight.is_some_and(|weight| weight.parse::<f32>().is_ok_and(|weight| weight <= 0.0))
}
