//! The string formats used in schemas, with a description of how to write their values.
//!
//! Model APIs list a few formats and may reject others. [`generate`](crate::generate) therefore keeps a listed format in
//! the schema and writes any other into the description, and messages about invalid values use the same words.

use serde_json::{Map, Value};

/// A string format.
#[derive(Debug)]
pub struct StringFormat {
    /// The name in `format`.
    pub name: &'static str,
    /// `true` if the model APIs list the format.
    pub listed: bool,
    /// A noun phrase with an example.
    pub phrase: &'static str,
}

const fn listed(name: &'static str, phrase: &'static str) -> StringFormat {
    StringFormat {
        name,
        listed: true,
        phrase,
    }
}

const fn unlisted(name: &'static str, phrase: &'static str) -> StringFormat {
    StringFormat {
        name,
        listed: false,
        phrase,
    }
}

/// The format of `mcp_runtime::values::Base64`, for which JSON Schema does not define a name.
pub const BASE64: &str = "base64";

/// The format of `mcp_runtime::values::HumanDuration`, for which JSON Schema does not define a name.
pub const HUMAN_DURATION: &str = "human-duration";

/// The known formats. Formats marked as listed appear in `OpenAI`'s "Structured Outputs" documentation, under supported
/// schemas. The others come from schemars or are the remaining JSON Schema formats that argument types use.
pub const FORMATS: &[StringFormat] = &[
    listed(
        "date-time",
        "date and time with a time zone, such as `2026-07-28T12:30:00Z`",
    ),
    listed("date", "date, such as `2026-07-28`"),
    listed("time", "time of day with a time zone, such as `12:30:00Z`"),
    listed("duration", "ISO 8601 duration, such as `PT1H30M`"),
    listed("email", "email address"),
    listed("hostname", "host name"),
    listed("ipv4", "IPv4 address, such as `192.0.2.1`"),
    listed("ipv6", "IPv6 address, such as `2001:db8::1`"),
    listed(
        "uuid",
        "UUID, such as `67e55044-10b1-426f-9247-bb680e5fe0c8`",
    ),
    unlisted(
        "partial-date-time",
        "date and time without a time zone, such as `2026-07-28T12:30:00`",
    ),
    unlisted("partial-time", "time of day, such as `12:30:00`"),
    unlisted(
        "zoned-date-time",
        "date, time and time zone, such as `2026-07-28T12:30:00+02:00[Europe/Paris]`",
    ),
    unlisted("ip", "IPv4 or IPv6 address"),
    unlisted("uri", "absolute URI, such as `https://example.com/a`"),
    unlisted("uri-reference", "absolute or relative URI"),
    unlisted("regex", "regular expression"),
    unlisted(BASE64, "bytes in Base64"),
    unlisted(HUMAN_DURATION, "length of time, such as `90s` or `1h 30m`"),
];

/// Returns `true` if the model APIs list this format.
#[must_use]
pub fn is_listed(name: &str) -> bool {
    FORMATS
        .iter()
        .any(|format| format.listed && format.name == name)
}

/// Moves a format that the model APIs do not list from the keyword to the description.
pub(crate) fn describe_unlisted(schema: &mut Map<String, Value>) {
    let Some(name) = schema.get("format").and_then(Value::as_str) else {
        return;
    };
    if is_listed(name) {
        return;
    }
    let phrase = FORMATS
        .iter()
        .find(|format| format.name == name)
        .map_or_else(
            || format!("format `{name}`"),
            |format| format.phrase.to_owned(),
        );
    schema.shift_remove("format");
    add_to_description(schema, &phrase);
}

/// Adds a phrase to the description, in parentheses unless it is the entire description.
pub(crate) fn add_to_description(schema: &mut Map<String, Value>, phrase: &str) {
    let text = match schema.get("description").and_then(Value::as_str) {
        Some(text) if !text.is_empty() => format!("{text} ({phrase})"),
        _ => phrase.to_owned(),
    };
    schema.insert("description".to_owned(), text.into());
}

/// Returns the format of a schema's strings, recognized by the keyword or by the phrase that `describe_unlisted` added
/// to the description.
#[must_use]
pub fn of_schema(schema: &Value) -> Option<&'static StringFormat> {
    if let Some(name) = schema.get("format").and_then(Value::as_str) {
        return FORMATS.iter().find(|format| format.name == name);
    }
    let description = schema.get("description")?.as_str()?;
    let end = description.strip_suffix(')').unwrap_or(description);
    FORMATS.iter().find(|format| {
        !format.listed
            && end
                .strip_suffix(format.phrase)
                .is_some_and(|before| before.is_empty() || before.ends_with('('))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_format_is_found_again_after_it_was_described() {
        for format in FORMATS {
            for description in [json!({}), json!({"description": "Where (if at all)"})] {
                let mut schema = description;
                schema["format"] = format.name.into();
                describe_unlisted(schema.as_object_mut().unwrap());
                assert_eq!(schema.get("format").is_some(), format.listed, "{schema}");
                assert_eq!(
                    of_schema(&schema).map(|found| found.name),
                    Some(format.name)
                );
            }
        }
        let mut unknown = json!({"format": "isbn", "description": "Book"});
        describe_unlisted(unknown.as_object_mut().unwrap());
        assert_eq!(unknown, json!({"description": "Book (format `isbn`)"}));
        assert!(of_schema(&unknown).is_none());
    }
}
