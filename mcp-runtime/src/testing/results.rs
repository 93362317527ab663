//! Results, with what tests ask of them.

use std::collections::BTreeMap;
use std::ops::Deref;

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::protocol::ProtocolVersion;
use crate::protocol::structured::MEMBER;
use crate::types::{
    CallToolResult, ContentBlock, GetPromptResult, ReadResourceResult, ResourceContents,
};

/// What a call of a tool came to.
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

    /// All text of its content, in lines.
    ///
    /// # Panics
    ///
    /// If the tool says that it failed.
    #[must_use]
    pub fn text(&self) -> String {
        self.check();
        text(&self.result.content)
    }

    /// What the model reads of a failure.
    ///
    /// # Panics
    ///
    /// If the tool does not say that it failed.
    #[must_use]
    pub fn error_text(&self) -> String {
        let text = text(&self.result.content);
        assert!(self.result.is_error, "`{}` went well: {text}", self.tool);
        text
    }

    /// Its structured content, as a type: what the tool gave, also in revisions that get `{"result": …}` of what is no object.
    ///
    /// The type is deserialized, so it is `#[data]`, or anything else that derives `Deserialize`; `#[data(output)]` does not.
    /// [`json`](Self::json) needs no type.
    ///
    /// # Panics
    ///
    /// If the tool says that it failed, if there is no structured content, or if it cannot be read as the type.
    #[must_use]
    pub fn structured<T: DeserializeOwned>(&self) -> T {
        self.check();
        let Some(content) = &self.result.structured_content else {
            panic!("`{}` gave no structured content", self.tool);
        };
        let read = |content: &RawValue| serde_json::from_str(content.get());
        let inside = self.wrapped().and_then(|inside| read(&inside).ok());
        match inside.map_or_else(|| read(content), Ok) {
            Ok(value) => value,
            Err(error) => panic!("`{}` gave {content}: {error}", self.tool),
        }
    }

    /// Its structured content, as JSON.
    ///
    /// # Panics
    ///
    /// If the tool says that it failed, or if there is no structured content.
    #[must_use]
    pub fn json(&self) -> Value {
        self.structured()
    }

    /// What may stand in an object because the revision has objects only.
    fn wrapped(&self) -> Option<Box<RawValue>> {
        let content = self.result.structured_content.as_ref()?.get();
        let members: BTreeMap<String, Box<RawValue>> = serde_json::from_str(content).ok()?;
        let is_alone = members.len() == 1 && !self.version.has_structured_values();
        members
            .into_iter()
            .find(|(name, _)| is_alone && name == MEMBER)
            .map(|(_, inside)| inside)
    }

    fn check(&self) {
        let text = text(&self.result.content);
        assert!(!self.result.is_error, "`{}` failed: {text}", self.tool);
    }
}

impl Deref for CallResult {
    type Target = CallToolResult;

    fn deref(&self) -> &CallToolResult {
        &self.result
    }
}

/// What a prompt came to.
#[derive(Clone, Debug)]
pub struct PromptResult(pub(super) GetPromptResult);

impl PromptResult {
    /// All text of its messages, in lines.
    #[must_use]
    pub fn text(&self) -> String {
        text(self.0.messages.iter().map(|message| &message.content))
    }
}

impl Deref for PromptResult {
    type Target = GetPromptResult;

    fn deref(&self) -> &GetPromptResult {
        &self.0
    }
}

/// What reading a resource came to.
#[derive(Clone, Debug)]
pub struct ReadResult(pub(super) ReadResourceResult);

impl ReadResult {
    /// All text of its contents, in lines.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.0.contents.iter().filter_map(contents_text);
        texts.collect::<Vec<_>>().join("\n")
    }
}

impl Deref for ReadResult {
    type Target = ReadResourceResult;

    fn deref(&self) -> &ReadResourceResult {
        &self.0
    }
}

fn text<'c>(content: impl IntoIterator<Item = &'c ContentBlock>) -> String {
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
