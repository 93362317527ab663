//! Types shared by several chapters of the specification: identity, icons, annotations and `_meta`.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize};

/// The `_meta` object of a message or of one of its parts: a map from keys to arbitrary JSON values.
///
/// A key consists of a name, optionally preceded by a reverse-DNS prefix and `/`. Prefixes whose second label is
/// `modelcontextprotocol` or `mcp` are reserved for the protocol.
///
/// Source: revision 2026-07-28, basic, "_meta".
pub type Meta = serde_json::Map<String, serde_json::Value>;

/// The name and version by which a program identifies itself to its peer.
///
/// Source: revision 2026-07-28, schema `Implementation`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Implementation {
    /// The program's identifier, usually its package name.
    pub name: String,
    /// The version, in any format.
    pub version: String,
    /// Display name. Since revision 2025-06-18.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The program's purpose, in a sentence or two. Since revision 2025-11-25.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// URL of the program's website. Since revision 2025-11-25.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub website_url: Option<String>,
    /// Icons for user interfaces. Since revision 2025-11-25.
    #[serde(
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub icons: Vec<Icon>,
}

impl Implementation {
    /// Creates an implementation with only a name and a version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            ..Self::default()
        }
    }
}

/// An icon that a client may display next to a name.
///
/// `src` must be an `https:` or `data:` URI, because clients do not trust any other scheme. In an attribute, any other
/// URI causes a compile error. A server or definition that uses one is rejected. In listings and content, such an icon
/// is dropped and a warning is logged.
///
/// Source: revision 2025-11-25, schema `Icon`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Icon {
    /// The `https:` or `data:` URI of the image.
    pub src: Cow<'static, str>,
    /// The media type, if the source does not specify it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<Cow<'static, str>>,
    /// The sizes at which the icon can be displayed, each as `WIDTHxHEIGHT` in pixels, or `any` for vector formats.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub sizes: Cow<'static, [Cow<'static, str>]>,
    /// The background that the icon is designed for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub theme: Option<IconTheme>,
}

impl Icon {
    /// Creates an icon with only a source.
    pub fn new(src: impl Into<Cow<'static, str>>) -> Self {
        Self {
            src: src.into(),
            mime_type: None,
            sizes: Cow::Borrowed(&[]),
            theme: None,
        }
    }

    /// Sets the media type.
    #[must_use]
    pub fn with_mime_type(mut self, mime_type: impl Into<Cow<'static, str>>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// Adds a size at which the icon can be displayed, such as `48x48` or `any`.
    #[must_use]
    pub fn with_size(mut self, size: impl Into<Cow<'static, str>>) -> Self {
        self.sizes.to_mut().push(size.into());
        self
    }

    /// Sets the background for which the icon is designed.
    #[must_use]
    pub fn with_theme(mut self, theme: IconTheme) -> Self {
        self.theme = Some(theme);
        self
    }
}

/// The background for which an icon is designed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum IconTheme {
    /// For light backgrounds.
    Light,
    /// For dark backgrounds.
    Dark,
}

/// Audience, priority and modification time for a piece of content.
///
/// Source: revision 2026-07-28, schema `Annotations`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Annotations {
    /// The intended audience. If empty, the content is intended for everyone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub audience: Vec<Role>,
    /// The importance of the content, from 0.0 (optional) to 1.0 (required).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<f64>,
    /// The time of the last modification, in ISO 8601 format. Since revision 2025-06-18.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

impl Annotations {
    /// Creates empty annotations.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `role` to the audience.
    #[must_use]
    pub fn with_audience(mut self, role: Role) -> Self {
        self.audience.push(role);
        self
    }

    /// Sets the priority, clamped to the range from 0.0 to 1.0. NaN clears it.
    #[must_use]
    pub fn with_priority(mut self, priority: f64) -> Self {
        self.priority = (!priority.is_nan()).then(|| priority.clamp(0.0, 1.0));
        self
    }

    /// Sets the time of the last modification in ISO 8601 format, such as `2026-07-28T12:00:00Z`.
    #[must_use]
    pub fn with_last_modified(mut self, time: impl Into<String>) -> Self {
        self.last_modified = Some(time.into());
        self
    }

    /// Returns `true` if no annotation is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.audience.is_empty() && self.priority.is_none() && self.last_modified.is_none()
    }
}

/// A participant in the conversation with the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The user.
    User,
    /// The model.
    Assistant,
}

/// Deserializes `null` as the default value, because some clients send `null` for members that they should omit.
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
