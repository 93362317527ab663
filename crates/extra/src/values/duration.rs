//! Durations in human-readable form.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;
use std::time::Duration;

use mcp_core::handler::handler_error::HandlerError;
use mcp_core::handler::output::IntoToolResult;
use mcp_protocol::types::CallToolResult;
use mcp_schema::format::HUMAN_DURATION;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A duration, represented in JSON as a string such as `90s`, `1h 30m` or `2 days`.
///
/// The units are those that the `humantime` crate supports, from `ns` to `years`. A value consists of one or more
/// numbers with units, is not negative, and fits into a [`Duration`], to which this type dereferences.
///
/// ```
/// use mcp_runtime::prelude::*;
/// use mcp_runtime::values::HumanDuration;
///
/// /// Waits.
/// #[tool]
/// fn remind(after: HumanDuration) -> String {
///     format!("in {} seconds", after.as_secs())
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct HumanDuration(pub Duration);

impl Deref for HumanDuration {
    type Target = Duration;

    fn deref(&self) -> &Duration {
        &self.0
    }
}

impl From<Duration> for HumanDuration {
    fn from(duration: Duration) -> Self {
        Self(duration)
    }
}

impl From<HumanDuration> for Duration {
    fn from(duration: HumanDuration) -> Self {
        duration.0
    }
}

impl FromStr for HumanDuration {
    type Err = humantime::DurationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        humantime::parse_duration(text).map(Self)
    }
}

impl fmt::Display for HumanDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_duration(self.0).fmt(f)
    }
}

impl Serialize for HumanDuration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for HumanDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct DurationVisitor;

        impl Visitor<'_> for DurationVisitor {
            type Value = HumanDuration;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a length of time such as `90s` or `1h 30m`")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<HumanDuration, E> {
                text.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_str(DurationVisitor)
    }
}

impl JsonSchema for HumanDuration {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "HumanDuration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": HUMAN_DURATION })
    }
}

impl IntoToolResult for HumanDuration {
    fn into_tool_result(self) -> Result<CallToolResult, HandlerError> {
        Ok(CallToolResult::text(self.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Duration, String> {
        let read = serde_json::from_str::<HumanDuration>(json);
        read.map(Duration::from).map_err(|error| error.to_string())
    }

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, seconds) in [
            ("90s", 90),
            ("1h 30m", 5_400),
            ("1h30m", 5_400),
            ("2 days", 172_800),
            ("0s", 0),
        ] {
            assert_eq!(
                read(&format!("\"{text}\"")),
                Ok(Duration::from_secs(seconds))
            );
        }
        assert_eq!(
            HumanDuration(Duration::from_millis(5_400_250)).to_string(),
            "1h 30m 250ms"
        );
    }

    #[test]
    fn other_values_are_refused() {
        for json in [
            r#""""#,
            r#""90""#,
            r#""soon""#,
            r#""-5s""#,
            r#""5 parsecs""#,
            r#""999999999999999999years""#,
            r#""99999999999999999999999s""#,
            "90",
            r#"{"secs":90,"nanos":0}"#,
        ] {
            assert!(read(json).is_err(), "{json}");
        }
    }

    #[test]
    fn every_duration_is_read_back() {
        for duration in [
            Duration::ZERO,
            Duration::from_nanos(1),
            Duration::from_secs(u64::from(u32::MAX)),
            Duration::MAX,
        ] {
            let text = HumanDuration(duration).to_string();
            assert_eq!(text.parse(), Ok(HumanDuration(duration)), "{text}");
        }
    }
}
