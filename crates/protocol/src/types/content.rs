//! Content blocks, and the results of tools, prompts and resources, which consist of them.

use std::borrow::Cow;

use base64_simd::STANDARD;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::types::{Annotations, Icon, Meta, Role};

/// One piece of content in a tool result or a prompt message.
///
/// Implements `From` for strings, [`ResourceContents`] and the type in each variant.
///
/// Source: revision 2026-07-28, schema `ContentBlock`. Audio was added in 2025-03-26 and links in 2025-06-18; older
/// clients receive the closest equivalent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ContentBlock {
    /// Plain text.
    Text(TextContent),
    /// An image.
    Image(ImageContent),
    /// Audio.
    Audio(AudioContent),
    /// A link to a resource that the client may read.
    ResourceLink(Box<ResourceLink>),
    /// The embedded contents of a resource.
    Resource(EmbeddedResource),
}

impl ContentBlock {
    /// Creates a block of plain text.
    pub fn text(text: impl Into<String>) -> Self {
        TextContent::new(text).into()
    }

    /// Creates an image with the given media type, encoding `bytes` in base64.
    pub fn image(bytes: impl AsRef<[u8]>, mime_type: impl Into<String>) -> Self {
        ImageContent::new(bytes, mime_type).into()
    }

    /// Creates an audio block with the given media type, encoding `bytes` in base64.
    pub fn audio(bytes: impl AsRef<[u8]>, mime_type: impl Into<String>) -> Self {
        AudioContent::new(bytes, mime_type).into()
    }

    /// Creates a block that embeds the contents of a resource.
    #[must_use]
    pub fn resource(contents: ResourceContents) -> Self {
        EmbeddedResource::new(contents).into()
    }

    /// Sets the audience, priority and modification time.
    #[must_use]
    pub fn with_annotations(mut self, annotations: Annotations) -> Self {
        let slot = match &mut self {
            Self::Text(content) => &mut content.annotations,
            Self::Image(content) => &mut content.annotations,
            Self::Audio(content) => &mut content.annotations,
            Self::ResourceLink(link) => &mut link.annotations,
            Self::Resource(embedded) => &mut embedded.annotations,
        };
        *slot = Some(annotations);
        self
    }
}

#[doc(hidden)]
impl ContentBlock {
    /// Calls `each` with every string meant for a model or a user.
    pub fn each_text(&mut self, each: &mut dyn FnMut(&mut String)) {
        match self {
            Self::Text(content) => each(&mut content.text),
            Self::Resource(embedded) => embedded.resource.text.iter_mut().for_each(each),
            Self::ResourceLink(link) => {
                each(&mut link.name);
                link.title.iter_mut().for_each(&mut *each);
                link.description.iter_mut().for_each(each);
            }
            Self::Image(_) | Self::Audio(_) => {}
        }
    }
}

/// Text meant for a model or a user.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TextContent {
    /// The text.
    pub text: String,
    /// Audience, priority and modification time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Additional metadata. Since revision 2025-06-18.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl TextContent {
    /// Creates text content.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// Sets the audience, priority and modification time.
    #[must_use]
    pub fn with_annotations(mut self, annotations: Annotations) -> Self {
        self.annotations = Some(annotations);
        self
    }
}

/// An image, base64-encoded on the wire.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ImageContent {
    /// The bytes of the file, in standard base64 with padding.
    pub data: String,
    /// The media type, such as `image/png`.
    pub mime_type: String,
    /// Audience, priority and modification time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Additional metadata. Since revision 2025-06-18.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ImageContent {
    /// Creates an image with the given media type, encoding `bytes` in base64.
    pub fn new(bytes: impl AsRef<[u8]>, mime_type: impl Into<String>) -> Self {
        Self {
            data: STANDARD.encode_to_string(bytes),
            mime_type: mime_type.into(),
            ..Self::default()
        }
    }

    /// Sets the audience, priority and modification time.
    #[must_use]
    pub fn with_annotations(mut self, annotations: Annotations) -> Self {
        self.annotations = Some(annotations);
        self
    }
}

/// Audio, base64-encoded on the wire. Since revision 2025-03-26.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AudioContent {
    /// The bytes of the file, in standard base64 with padding.
    pub data: String,
    /// The media type, such as `audio/wav`.
    pub mime_type: String,
    /// Audience, priority and modification time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Additional metadata. Since revision 2025-06-18.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl AudioContent {
    /// Creates audio content with the given media type, encoding `bytes` in base64.
    pub fn new(bytes: impl AsRef<[u8]>, mime_type: impl Into<String>) -> Self {
        Self {
            data: STANDARD.encode_to_string(bytes),
            mime_type: mime_type.into(),
            ..Self::default()
        }
    }

    /// Sets the audience, priority and modification time.
    #[must_use]
    pub fn with_annotations(mut self, annotations: Annotations) -> Self {
        self.annotations = Some(annotations);
        self
    }
}

/// A link to a resource. The resource does not have to appear in any list. Since revision 2025-06-18.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourceLink {
    /// The URI of the resource.
    pub uri: String,
    /// The name of the resource.
    pub name: String,
    /// Display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Description of the contents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Size in bytes, before any encoding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Audience, priority and modification time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Icons for user interfaces. Since revision 2025-11-25.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// Additional metadata.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ResourceLink {
    /// Creates a link to `uri` with the given name.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            name: name.into(),
            ..Self::default()
        }
    }

    /// Sets the media type of the resource.
    #[must_use]
    pub fn with_mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// Sets the description of the resource.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets the audience, priority and modification time.
    #[must_use]
    pub fn with_annotations(mut self, annotations: Annotations) -> Self {
        self.annotations = Some(annotations);
        self
    }
}

/// The contents of a resource, embedded in a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EmbeddedResource {
    /// The embedded contents.
    pub resource: ResourceContents,
    /// Audience, priority and modification time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Additional metadata. Since revision 2025-06-18.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl EmbeddedResource {
    /// Creates an embedded resource from its contents.
    #[must_use]
    pub fn new(contents: ResourceContents) -> Self {
        Self {
            resource: contents,
            annotations: None,
            meta: None,
        }
    }

    /// Sets the audience, priority and modification time.
    #[must_use]
    pub fn with_annotations(mut self, annotations: Annotations) -> Self {
        self.annotations = Some(annotations);
        self
    }
}

/// The contents of a resource: text, or bytes in base64.
///
/// The constructors ensure that exactly one of `text` and `blob` is set.
///
/// Source: revision 2026-07-28, schema `TextResourceContents` and `BlobResourceContents`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourceContents {
    /// The URI of the contents. If a resource function leaves it empty, the requested URI is used.
    pub uri: Cow<'static, str>,
    /// The media type. If a resource function omits it, the declared media type is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<Cow<'static, str>>,
    /// The text, if the contents are text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The bytes in standard base64 with padding, if the contents are binary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
    /// Additional metadata. Since revision 2025-06-18.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ResourceContents {
    /// Creates text contents for `uri`.
    pub fn text(uri: impl Into<Cow<'static, str>>, text: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            text: Some(text.into()),
            ..Self::default()
        }
    }

    /// Creates binary contents for `uri`, encoding `bytes` in base64.
    pub fn blob(uri: impl Into<Cow<'static, str>>, bytes: impl AsRef<[u8]>) -> Self {
        Self {
            uri: uri.into(),
            blob: Some(STANDARD.encode_to_string(bytes)),
            ..Self::default()
        }
    }

    /// Sets the media type of the contents.
    #[must_use]
    pub fn with_mime_type(mut self, mime_type: impl Into<Cow<'static, str>>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }
}

impl From<TextContent> for ContentBlock {
    fn from(content: TextContent) -> Self {
        Self::Text(content)
    }
}

impl From<ImageContent> for ContentBlock {
    fn from(content: ImageContent) -> Self {
        Self::Image(content)
    }
}

impl From<AudioContent> for ContentBlock {
    fn from(content: AudioContent) -> Self {
        Self::Audio(content)
    }
}

impl From<ResourceLink> for ContentBlock {
    fn from(link: ResourceLink) -> Self {
        Self::ResourceLink(Box::new(link))
    }
}

impl From<EmbeddedResource> for ContentBlock {
    fn from(resource: EmbeddedResource) -> Self {
        Self::Resource(resource)
    }
}

impl From<ResourceContents> for ContentBlock {
    fn from(contents: ResourceContents) -> Self {
        Self::resource(contents)
    }
}

impl From<String> for ContentBlock {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<&str> for ContentBlock {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

// --- Results of calls, which consist of content.

/// The result of `tools/call`.
///
/// Source: revision 2026-07-28, schema `CallToolResult`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CallToolResult {
    /// The content for the model to read.
    #[serde(default)]
    pub content: Vec<ContentBlock>,
    /// The result as JSON that matches the output schema. Since revision 2025-06-18. Revisions before 2026-07-28 allow
    /// only objects; for these, any other value is wrapped in an object with a `result` member.
    ///
    /// `Some` containing the JSON text `null` means that the structured content is `null`; `None` means that there is
    /// no structured content.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present_even_if_null"
    )]
    pub structured_content: Option<Box<RawValue>>,
    /// `true` if the content describes a failure that the model can read and act on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// Additional metadata.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CallToolResult {
    /// Creates a result with the given content.
    pub fn new(content: impl Into<Vec<ContentBlock>>) -> Self {
        Self {
            content: content.into(),
            ..Self::default()
        }
    }

    /// Creates a result with one text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: vec![ContentBlock::text(text)],
            ..Self::default()
        }
    }

    /// Creates a failed result with text for the model to read.
    pub fn error(text: impl Into<String>) -> Self {
        Self {
            is_error: true,
            ..Self::text(text)
        }
    }

    /// Creates a result with only structured content. The content is repeated as text only for clients whose protocol
    /// version does not support structured content.
    ///
    /// Until the result is sent, its content is a single empty text block.
    #[must_use]
    pub fn structured_only(content: Box<RawValue>) -> Self {
        Self {
            structured_content: Some(content),
            ..Self::text("")
        }
    }

    /// Returns `true` if the content is the empty text block from [`structured_only`](Self::structured_only), which is
    /// not sent.
    #[must_use]
    pub fn is_structured_only(&self) -> bool {
        self.structured_content.is_some()
            && matches!(self.content.as_slice(), [ContentBlock::Text(text)] if text.text.is_empty())
    }

    /// Adds an entry to `_meta`. Keys that are reserved for the protocol are dropped when the result is sent.
    #[must_use]
    pub fn with_meta(
        mut self,
        key: impl Into<String>,
        value: impl Into<serde_json::Value>,
    ) -> Self {
        self.meta
            .get_or_insert_default()
            .insert(key.into(), value.into());
        self
    }
}

/// Deserializes a member as `Some` whenever it is present, even if its value is `null`.
fn present_even_if_null<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Box<RawValue>>, D::Error> {
    Deserialize::deserialize(deserializer).map(Some)
}

/// The result of `prompts/get`.
///
/// Source: revision 2026-07-28, schema `GetPromptResult`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GetPromptResult {
    /// A description of the messages. Defaults to the description of the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The messages, in order.
    pub messages: Vec<PromptMessage>,
    /// Additional metadata.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl GetPromptResult {
    /// Creates a result with the given messages.
    pub fn new(messages: impl Into<Vec<PromptMessage>>) -> Self {
        Self {
            messages: messages.into(),
            ..Self::default()
        }
    }

    /// Sets the description of the messages.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }
}

/// A message in a prompt, with a role and exactly one content block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PromptMessage {
    /// The speaker of the message.
    pub role: Role,
    /// The content of the message.
    pub content: ContentBlock,
}

impl PromptMessage {
    /// Creates a message with the given role.
    pub fn new(role: Role, content: impl Into<ContentBlock>) -> Self {
        Self {
            role,
            content: content.into(),
        }
    }

    /// Creates a message from the user.
    pub fn user(content: impl Into<ContentBlock>) -> Self {
        Self::new(Role::User, content)
    }

    /// Creates a message from the model.
    pub fn assistant(content: impl Into<ContentBlock>) -> Self {
        Self::new(Role::Assistant, content)
    }
}

/// Creates a message from the user.
impl<T: Into<ContentBlock>> From<T> for PromptMessage {
    fn from(content: T) -> Self {
        Self::user(content)
    }
}

/// The result of `resources/read`.
///
/// Source: revision 2026-07-28, schema `ReadResourceResult`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ReadResourceResult {
    /// The contents. Reading a collection can return several items.
    pub contents: Vec<ResourceContents>,
    /// The default media type, used for contents without a media type if the definition does not declare one.
    #[serde(skip)]
    mime_type: Option<&'static str>,
    /// Additional metadata.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

#[doc(hidden)]
impl ReadResourceResult {
    /// Returns the media type for contents that do not specify one.
    #[must_use]
    pub fn default_mime_type(&self) -> Option<&'static str> {
        self.mime_type
    }

    /// Sets the media type for contents that do not specify one.
    pub fn set_default_mime_type(&mut self, mime_type: &'static str) {
        self.mime_type = Some(mime_type);
    }
}
