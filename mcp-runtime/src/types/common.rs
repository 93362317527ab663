//! Pieces that several chapters share: identity, icons, annotations, `_meta`.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize};

/// The `_meta` object of a message part: keys to any JSON.
///
/// Keys are an optional reverse-DNS prefix, `/`, and a name. Prefixes whose second label is `modelcontextprotocol` or
/// `mcp` are reserved for the protocol.
///
/// Source: revision 2026-07-28, basic, "_meta".
pub type Meta = serde_json::Map<String, serde_json::Value>;

/// The name and version of a program, as it introduces itself to the other side.
///
/// Source: revision 2026-07-28, schema `Implementation`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Implementation {
    /// The identifier of the program, usually its package name.
    pub name: String,
    /// Its version, in any format.
    pub version: String,
    /// A name for people. Revisions from 2025-06-18.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the program is for, in a sentence or two. Revisions from 2025-11-25.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Where to read more. Revisions from 2025-11-25.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub website_url: Option<String>,
    /// Pictures for user interfaces. Revisions from 2025-11-25.
    #[serde(
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub icons: Vec<Icon>,
}

impl Implementation {
    /// A program with this name and version, and nothing else said about it.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            ..Self::default()
        }
    }
}

/// A picture a client may show beside a name.
///
/// `src` is an `https:` or `data:` URI; clients distrust anything else. In an attribute another one is a compile error; a server
/// or a definition that has one is refused; in a listing or in content it is left out, with a warning in the log.
///
/// Source: revision 2025-11-25, schema `Icon`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Icon {
    /// Where the picture is: an `https:` or `data:` URI.
    pub src: Cow<'static, str>,
    /// Its media type, when the source does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<Cow<'static, str>>,
    /// The sizes it suits, each `WIDTHxHEIGHT` in pixels, or `any` for vector formats.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub sizes: Cow<'static, [Cow<'static, str>]>,
    /// The background it is drawn for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub theme: Option<IconTheme>,
}

impl Icon {
    /// Whether clients may show what is there: they distrust every scheme but `https:` and `data:`.
    ///
    /// Source: revision 2026-07-28, basic, "Icons".
    pub(crate) const fn is_source(src: &str) -> bool {
        let bytes = src.as_bytes();
        // Only the start is looked at: `data:` URIs are too long to be walked through while compiling.
        (starts_with(bytes, b"https://") && bytes.len() > b"https://".len())
            || starts_with(bytes, b"data:")
    }

    /// An icon of which only the source is known.
    pub fn new(src: impl Into<Cow<'static, str>>) -> Self {
        Self {
            src: src.into(),
            mime_type: None,
            sizes: Cow::Borrowed(&[]),
            theme: None,
        }
    }

    /// With its media type.
    #[must_use]
    pub fn with_mime_type(mut self, mime_type: impl Into<Cow<'static, str>>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// With one more size it suits, such as `48x48` or `any`.
    #[must_use]
    pub fn with_size(mut self, size: impl Into<Cow<'static, str>>) -> Self {
        self.sizes.to_mut().push(size.into());
        self
    }

    /// With the background it is drawn for.
    #[must_use]
    pub fn with_theme(mut self, theme: IconTheme) -> Self {
        self.theme = Some(theme);
        self
    }
}

/// Whether a text starts like this, which is in lower case, whatever its own case.
const fn starts_with(text: &[u8], start: &[u8]) -> bool {
    match text.split_at_checked(start.len()) {
        Some((text, _)) => text.eq_ignore_ascii_case(start),
        None => false,
    }
}

/// The background an icon is drawn for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum IconTheme {
    /// For light backgrounds.
    Light,
    /// For dark backgrounds.
    Dark,
}

/// Who a piece of content is for, and how much it matters.
///
/// Source: revision 2026-07-28, schema `Annotations`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Annotations {
    /// Whom it is meant for; empty means anybody.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub audience: Vec<Role>,
    /// How much it matters, from 0.0 (optional) to 1.0 (required).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<f64>,
    /// When it last changed, as an ISO 8601 time. Revisions from 2025-06-18.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

impl Annotations {
    /// Nothing said.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Meant for `role`, besides those already named.
    #[must_use]
    pub fn with_audience(mut self, role: Role) -> Self {
        self.audience.push(role);
        self
    }

    /// This important, clamped to 0.0 to 1.0; a number that is none says nothing.
    #[must_use]
    pub fn with_priority(mut self, priority: f64) -> Self {
        self.priority = (!priority.is_nan()).then(|| priority.clamp(0.0, 1.0));
        self
    }

    /// Last changed then, an ISO 8601 time such as `2026-07-28T12:00:00Z`.
    #[must_use]
    pub fn with_last_modified(mut self, time: impl Into<String>) -> Self {
        self.last_modified = Some(time.into());
        self
    }

    /// Whether nothing is said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.audience.is_empty() && self.priority.is_none() && self.last_modified.is_none()
    }
}

/// A side of the conversation with the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person.
    User,
    /// The model.
    Assistant,
}

/// What a client says of itself may be `null` where the schema would leave it out.
pub(super) fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Covers: RES-12
    #[test]
    fn a_priority_is_between_nothing_and_one() {
        for (given, kept) in [
            (0.0, Some(0.0)),
            (0.5, Some(0.5)),
            (7.0, Some(1.0)),
            (-1.0, Some(0.0)),
            (f64::INFINITY, Some(1.0)),
            (f64::NAN, None),
        ] {
            assert_eq!(Annotations::new().with_priority(given).priority, kept);
        }
    }

    // Covers: RES-12
    #[test]
    fn an_audience_is_written_in_the_words_of_the_protocol() {
        let both = Annotations::new()
            .with_audience(Role::User)
            .with_audience(Role::Assistant);
        let json = serde_json::to_string(&both).unwrap();
        assert_eq!(json, r#"{"audience":["user","assistant"]}"#);
    }
}
