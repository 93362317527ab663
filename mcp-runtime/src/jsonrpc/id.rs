//! Request ids, echoed as they came and compared type-exactly.

/// The id of a request: an integer of 64 bits, or a string.
///
/// `1` and `"1"` are different ids. Written back byte for byte as it came.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RequestId(Box<str>);

impl RequestId {
    /// The id as it is on the wire, quotes and escapes included.
    pub(crate) fn as_json(&self) -> &str {
        &self.0
    }

    /// From JSON text that is known to be a valid id.
    pub(crate) fn from_valid(json: &str) -> Self {
        Self(json.into())
    }
}
