//! Limits on single messages, over every transport.

use crate::jsonrpc::ParseLimits;

/// Limits on single messages, over every transport.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MessageLimits {
    /// Maximum length of a line on stdio and byte streams, in bytes. Default 16 MiB. A longer line is discarded and
    /// answered with -32600.
    pub max_line_bytes: usize,
    /// Maximum nesting depth of a message. Default 128, which is also the upper bound. A message that is nested more
    /// deeply is answered with -32700.
    pub max_depth: usize,
    /// Maximum number of values in a message, counting every key, item and scalar. Default 100,000. When exceeded:
    /// -32600.
    pub max_values: usize,
    /// Maximum length of a string request id, in bytes. Default 1 KiB. When exceeded: -32600.
    pub max_id_bytes: usize,
    /// Maximum length of a tool or prompt name, in bytes. Default 256. When exceeded: -32602.
    pub max_name_bytes: usize,
    /// Maximum length of a resource URI, in bytes. Default 8 KiB. When exceeded: -32602.
    pub max_uri_bytes: usize,
    /// Maximum length of a cursor, in bytes. Default 1 KiB. When exceeded: -32602.
    pub max_cursor_bytes: usize,
    /// Maximum number of entries in a batch (2025-03-26 only). Default 100. When exceeded: -32600.
    pub max_batch: usize,
}

impl Default for MessageLimits {
    fn default() -> Self {
        Self {
            max_line_bytes: 16 << 20,
            max_depth: 128,
            max_values: 100_000,
            max_id_bytes: 1 << 10,
            max_name_bytes: 256,
            max_uri_bytes: 8 << 10,
            max_cursor_bytes: 1 << 10,
            max_batch: 100,
        }
    }
}

impl MessageLimits {
    /// Returns tight limits for servers with modest needs on the open internet.
    pub(super) fn strict() -> Self {
        Self {
            max_line_bytes: 1 << 20,
            max_depth: 32,
            max_values: 10_000,
            ..Self::default()
        }
    }

    /// Returns the limits for parsing a message.
    #[inline]
    pub(crate) fn parse_limits(&self) -> ParseLimits {
        ParseLimits {
            max_depth: self.max_depth,
            max_values: self.max_values,
            max_id_bytes: self.max_id_bytes,
            max_batch: self.max_batch,
        }
    }

    /// Returns the name of each field that must not be zero, paired with `true` if the field is zero.
    pub(super) fn zero_fields(&self) -> [(&'static str, bool); 8] {
        [
            ("message.max_line_bytes", self.max_line_bytes == 0),
            ("message.max_depth", self.max_depth == 0),
            ("message.max_values", self.max_values == 0),
            ("message.max_id_bytes", self.max_id_bytes == 0),
            ("message.max_name_bytes", self.max_name_bytes == 0),
            ("message.max_uri_bytes", self.max_uri_bytes == 0),
            ("message.max_cursor_bytes", self.max_cursor_bytes == 0),
            ("message.max_batch", self.max_batch == 0),
        ]
    }
}
