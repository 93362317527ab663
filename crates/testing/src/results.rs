//! Results with accessors for tests.

use std::collections::BTreeMap;
use std::ops::Deref;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use mcp_protocol::ProtocolVersion;
use mcp_protocol::shape::structured::MEMBER;
use mcp_protocol::types::{
    CallToolResult, ContentBlock, GetPromptResult, ReadResourceResult, ResourceContents,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

/// The result of a tool call.
#[derive(Clone, Debug)]
pub struct CallResult {
    tool: String,
    version: ProtocolVersion,
    result: CallToolResult,
}

impl CallResult {
    pub(super) fn new(tool: &str, version: ProtocolVersion, result: CallToolResult) -> Self {
        Self {
            tool: tool.to_owned(),
            version,
            result,
        }
    }

    /// Returns all text in the content, joined by line breaks.
    ///
    /// # Panics
    ///
    /// Panics if the tool reports a failure.
    #[must_use]
    #[track_caller]
    pub fn text(&self) -> String {
        self.assert_success();
        joined_text(&self.result.content)
    }

    /// Returns a failure's text as the model would read it.
    ///
    /// # Panics
    ///
    /// Panics if the tool does not report a failure.
    #[must_use]
    #[track_caller]
    pub fn error_text(&self) -> String {
        let text = joined_text(&self.result.content);
        assert!(self.result.is_error, "`{}` succeeded: {text}", self.tool);
        text
    }

    /// Deserializes the structured content, which is the value that the tool returned. The value is the same in
    /// protocol versions that wrap values other than objects as `{"result": …}`.
    ///
    /// The type must derive `Deserialize`, as `#[data]` types do; `#[data(output)]` types do not. If you do not have
    /// such a type, use [`json`](Self::json).
    ///
    /// # Panics
    ///
    /// Panics if the tool reports a failure, or if the structured content is missing or cannot be deserialized.
    #[must_use]
    #[track_caller]
    pub fn structured<T: DeserializeOwned>(&self) -> T {
        self.assert_success();
        let Some(content) = &self.result.structured_content else {
            panic!("`{}` returned no structured content", self.tool);
        };
        let read = |content: &RawValue| serde_json::from_str(content.get());
        let inside = self.unwrapped_value().and_then(|inside| read(&inside).ok());
        match inside.map_or_else(|| read(content), Ok) {
            Ok(value) => value,
            Err(error) => panic!("`{}` returned {content}: {error}", self.tool),
        }
    }

    /// Returns the structured content as JSON.
    ///
    /// # Panics
    ///
    /// Panics if the tool reports a failure or does not return structured content.
    #[must_use]
    #[track_caller]
    pub fn json(&self) -> Value {
        self.structured()
    }

    /// Unwraps the value from the object that contains it in protocol versions that support only objects.
    fn unwrapped_value(&self) -> Option<Box<RawValue>> {
        let content = self.result.structured_content.as_ref()?.get();
        let members: BTreeMap<String, Box<RawValue>> = serde_json::from_str(content).ok()?;
        let is_alone = members.len() == 1 && !self.version.has_structured_values();
        members
            .into_iter()
            .find(|(name, _)| is_alone && name == MEMBER)
            .map(|(_, inside)| inside)
    }

    #[track_caller]
    fn assert_success(&self) {
        let text = joined_text(&self.result.content);
        assert!(!self.result.is_error, "`{}` failed: {text}", self.tool);
    }
}

impl Deref for CallResult {
    type Target = CallToolResult;

    fn deref(&self) -> &CallToolResult {
        &self.result
    }
}

/// The result of getting a prompt.
#[derive(Clone, Debug)]
pub struct PromptResult(pub(super) GetPromptResult);

impl PromptResult {
    /// Returns all text in the messages, joined by line breaks.
    #[must_use]
    pub fn text(&self) -> String {
        joined_text(self.0.messages.iter().map(|message| &message.content))
    }
}

impl Deref for PromptResult {
    type Target = GetPromptResult;

    fn deref(&self) -> &GetPromptResult {
        &self.0
    }
}

/// The result of reading a resource.
#[derive(Clone, Debug)]
pub struct ReadResult(pub(super) ReadResourceResult);

impl ReadResult {
    /// Returns all text in the contents, joined by line breaks.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.0.contents.iter().filter_map(contents_text);
        texts.collect::<Vec<_>>().join("\n")
    }

    /// Returns the bytes of the binary contents, decoded, one after another.
    ///
    /// # Panics
    ///
    /// Panics if the bytes are not valid base64.
    #[must_use]
    #[track_caller]
    pub fn bytes(&self) -> Vec<u8> {
        let blobs = self.0.contents.iter().filter_map(|it| it.blob.as_deref());
        let bytes = blobs.map(|blob| match BASE64_STANDARD.decode(blob) {
            Ok(bytes) => bytes,
            Err(error) => panic!("the contents are not base64: {error}"),
        });
        bytes.collect::<Vec<_>>().concat()
    }
}

impl Deref for ReadResult {
    type Target = ReadResourceResult;

    fn deref(&self) -> &ReadResourceResult {
        &self.0
    }
}

fn joined_text<'c>(content: impl IntoIterator<Item = &'c ContentBlock>) -> String {
    let texts = content.into_iter().filter_map(|block| match block {
        ContentBlock::Text(text) => Some(text.text.as_str()),
        ContentBlock::Resource(resource) => contents_text(&resource.resource),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn contents_text(contents: &ResourceContents) -> Option<&str> {
    contents.text.as_deref()
}
