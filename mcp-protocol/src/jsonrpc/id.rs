//! Request ids, which are echoed unchanged and compared by type and value.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::jsonrpc::{unquote, write_string};

/// The id of a request: a 64-bit integer or a string.
///
/// `1` and `"1"` are different ids; `"a"` and `"\u0061"` are the same. Ids are written back byte for byte as received.
#[derive(Clone)]
pub struct RequestId(IdRepr);

#[derive(Clone)]
enum IdRepr {
    /// A short id, stored without an allocation. Most clients use consecutive numbers, which fit. This variant holds
    /// only ids that can be written in exactly one way, so that they can be compared byte by byte.
    Short {
        text: [u8; MAX_SHORT_BYTES],
        length: u8,
    },
    /// Any other id, stored behind a thin pointer so that an id is no larger than two words.
    Long(Arc<String>),
}

/// Maximum length that fits into two words. Clients that start counting at the current time in milliseconds need 13
/// bytes.
const MAX_SHORT_BYTES: usize = 14;

impl RequestId {
    /// Returns the id as sent on the wire, including quotes and escapes.
    #[inline]
    #[must_use]
    pub fn as_json(&self) -> &str {
        match &self.0 {
            IdRepr::Short { .. } => std::str::from_utf8(self.as_bytes()).unwrap_or_default(),
            IdRepr::Long(text) => text,
        }
    }

    /// Like [`as_json`](Self::as_json), but returns bytes, which is cheaper.
    #[inline]
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            IdRepr::Short { text, length } => text.get(..usize::from(*length)).unwrap_or_default(),
            IdRepr::Long(text) => text.as_bytes(),
        }
    }

    /// Parses an id from a JSON value. Returns `None` if the value cannot be an id.
    #[must_use]
    pub fn parse(json: &str) -> Option<Self> {
        let valid = json.starts_with('"') || json.parse::<i64>().is_ok();
        valid.then(|| Self::from_valid(json))
    }

    /// Creates an id from JSON text that is known to be a valid id.
    #[must_use]
    pub fn from_valid(json: &str) -> Self {
        let mut text = [0; MAX_SHORT_BYTES];
        match (text.get_mut(..json.len()), u8::try_from(json.len())) {
            (Some(start), Ok(length)) if !has_other_spellings(json) => {
                start.copy_from_slice(json.as_bytes());
                Self(IdRepr::Short { text, length })
            }
            _ => Self(IdRepr::Long(Arc::new(json.to_owned()))),
        }
    }

    /// Returns the canonical form of this id.
    fn canonical(&self) -> Cow<'_, [u8]> {
        let json = self.as_bytes();
        if matches!(self.0, IdRepr::Short { .. }) || !has_other_spellings(self.as_json()) {
            return Cow::Borrowed(json);
        }
        match unquote(self.as_json()) {
            Ok(text) => {
                let mut out = Vec::with_capacity(json.len());
                write_string(&mut out, &text);
                Cow::Owned(out)
            }
            // `-0` is the only number that can be written in more than one way.
            Err(_) => Cow::Borrowed(b"0"),
        }
    }
}

/// Returns `true` if the id can be written in more than one way, as is the case for `-0` and for strings with escapes.
fn has_other_spellings(json: &str) -> bool {
    json == "-0" || (json.starts_with('"') && json.as_bytes().contains(&b'\\'))
}

impl std::fmt::Debug for RequestId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RequestId").field(&self.as_json()).finish()
    }
}

impl PartialEq for RequestId {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (
                IdRepr::Short { text, length },
                IdRepr::Short {
                    text: other,
                    length: other_length,
                },
            ) => text == other && length == other_length,
            _ => self.canonical() == other.canonical(),
        }
    }
}

impl Eq for RequestId {}

impl Hash for RequestId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(&self.canonical());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_equal_by_type_and_value_and_echoed_as_they_came() {
        for (a, b, equal) in [
            ("1", "1", true),
            ("1", "\"1\"", false),
            ("0", "-0", true),
            (r#""a""#, r#""\u0061""#, true),
            (r#""a\/b""#, r#""a/b""#, true),
            (r#""\n""#, r#""\u000a""#, true),
            (r#""a""#, r#""A""#, false),
            (r#""""#, "0", false),
            ("-9223372036854775808", "9223372036854775807", false),
            (
                r#""a longer id than most""#,
                r#""\u0061 longer id than most""#,
                true,
            ),
            (r#""eleven üöä""#, r#""eleven üöä""#, true),
        ] {
            let (one, other) = (RequestId::from_valid(a), RequestId::from_valid(b));
            assert_eq!(one == other, equal, "{a} {b}");
            assert_eq!((one.as_json(), other.as_json()), (a, b));
        }
    }
}
