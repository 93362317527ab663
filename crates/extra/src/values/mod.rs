//! Types for values without a dedicated JSON type: each brings its schema and its form as a result.

#[cfg(feature = "duration")]
mod duration;

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use base64::alphabet::{Alphabet, STANDARD, URL_SAFE};
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::{DecodeError, Engine as _};
use mcp_core::handler::handler_error::HandlerError;
use mcp_core::handler::output::IntoToolResult;
use mcp_protocol::types::CallToolResult;
use mcp_schema::format::BASE64;
use schemars::generate::Contract;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[cfg(feature = "duration")]
pub use duration::HumanDuration;

/// Bytes, represented in JSON as a Base64 string.
///
/// An argument, or a field of an argument, can be at most `MAX` bytes long (1 MiB by default); longer values are
/// rejected before they are decoded. A result can have any length. Both alphabets of RFC 4648 are accepted, with or
/// without padding; results use the standard alphabet with padding. On the command line, `name=@file` sends the
/// contents of a file.
///
/// ```
/// use mcp_runtime::prelude::*;
/// use mcp_runtime::values::Base64;
///
/// /// Stores a receipt.
/// #[tool]
/// fn attach(receipt: Base64<500_000>) -> String {
///     format!("stored {} bytes", receipt.len())
/// }
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Base64<const MAX: usize = 1_048_576>(Vec<u8>);

impl<const MAX: usize> Base64<MAX> {
    /// The length of `MAX` bytes encoded as Base64, including padding.
    const MAX_ENCODED: usize = MAX.div_ceil(3).saturating_mul(4);

    /// Returns the bytes.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// Decodes text.
    fn decode(text: &str) -> Result<Self, String> {
        let too_long = || format!("more than {MAX} bytes in Base64");
        if text.starts_with("data:") {
            return Err(
                "a `data:` URI instead of Base64; send only what follows the comma".to_owned(),
            );
        }
        if text.len() > Self::MAX_ENCODED {
            return Err(too_long());
        }
        let engine = match memchr::memchr2(b'-', b'_', text.as_bytes()) {
            Some(_) => &URL_ENGINE,
            None => &ENGINE,
        };
        match engine.decode(text) {
            Ok(bytes) if bytes.len() > MAX => Err(too_long()),
            Ok(bytes) => Ok(Self(bytes)),
            Err(DecodeError::InvalidByte(offset, _)) => {
                let character = text.get(offset..).and_then(|rest| rest.chars().next());
                let character = character.unwrap_or(char::REPLACEMENT_CHARACTER);
                Err(format!(
                    "{character:?} at byte {offset} is not a Base64 character"
                ))
            }
            Err(_) => Err("the Base64 is cut off".to_owned()),
        }
    }

    fn encode(&self) -> String {
        ENGINE.encode(&self.0)
    }
}

const ENGINE: GeneralPurpose = engine(&STANDARD);

const URL_ENGINE: GeneralPurpose = engine(&URL_SAFE);

const fn engine(alphabet: &Alphabet) -> GeneralPurpose {
    let config =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    GeneralPurpose::new(alphabet, config)
}

impl<const MAX: usize> From<Vec<u8>> for Base64<MAX> {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl<const MAX: usize> Deref for Base64<MAX> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl<const MAX: usize> AsRef<[u8]> for Base64<MAX> {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

/// Shows the number of bytes instead of the bytes.
impl<const MAX: usize> fmt::Debug for Base64<MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Base64({} bytes)", self.0.len())
    }
}

impl<const MAX: usize> Serialize for Base64<MAX> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.encode())
    }
}

impl<'de, const MAX: usize> Deserialize<'de> for Base64<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Base64Visitor<const MAX: usize>;

        impl<const MAX: usize> Visitor<'_> for Base64Visitor<MAX> {
            type Value = Base64<MAX>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "at most {MAX} bytes in Base64")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Base64::decode(text).map_err(E::custom)
            }
        }

        deserializer.deserialize_str(Base64Visitor::<MAX>)
    }
}

impl<const MAX: usize> JsonSchema for Base64<MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Base64".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        // Results are not bounded, and model APIs do not reject `contentEncoding` in results.
        if generator.contract() == &Contract::Serialize {
            return json_schema!({ "type": "string", "contentEncoding": "base64" });
        }
        json_schema!({ "type": "string", "format": BASE64, "maxLength": Self::MAX_ENCODED })
    }
}

impl<const MAX: usize> IntoToolResult for Base64<MAX> {
    fn into_tool_result(self) -> Result<CallToolResult, HandlerError> {
        Ok(CallToolResult::text(self.encode()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<const MAX: usize>(text: &str) -> Result<Vec<u8>, String> {
        let json = serde_json::Value::from(text).to_string();
        let read = serde_json::from_str::<Base64<MAX>>(&json);
        read.map(Base64::into_bytes).map_err(|error| {
            let text = error.to_string();
            text.split(" at line").next().unwrap_or_default().to_owned()
        })
    }

    #[test]
    fn both_alphabets_are_read_with_and_without_padding() {
        for text in ["+/8=", "+/8", "-_8=", "-_8"] {
            assert_eq!(read::<2>(text), Ok(vec![0xfb, 0xff]), "{text}");
        }
        assert_eq!(read::<0>(""), Ok(Vec::new()));
        let written = Base64::<1>::from(vec![0xfb, 0xff]);
        assert_eq!(serde_json::to_string(&written).unwrap(), r#""+/8=""#);
        assert_eq!(format!("{written:?}"), "Base64(2 bytes)");
    }

    #[test]
    fn invalid_text_is_refused_with_a_reason() {
        for (text, reason) in [
            ("AAAA", "more than 2 bytes in Base64"),
            ("AAAAA", "more than 2 bytes in Base64"),
            ("a b=", "' ' at byte 1 is not a Base64 character"),
            ("aé=", "'é' at byte 1 is not a Base64 character"),
            ("A", "the Base64 is cut off"),
            ("AB", "the Base64 is cut off"),
            (
                "data:image/png;base64,AA==",
                "a `data:` URI instead of Base64; send only what follows the comma",
            ),
        ] {
            assert_eq!(read::<2>(text), Err(reason.to_owned()), "{text}");
        }
        assert!(serde_json::from_str::<Base64>("[1, 2]").is_err());
        assert_eq!(Base64::<{ usize::MAX }>::MAX_ENCODED, usize::MAX);
    }
}
