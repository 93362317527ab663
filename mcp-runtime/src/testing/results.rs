//! Results, with what tests ask of them.

use std::ops::Deref;

use serde::de::DeserializeOwned;

use crate::types::{
    CallToolResult, ContentBlock, GetPromptResult, ReadResourceResult, ResourceContents,
};

/// What a call of a tool came to.
#[derive(Clone, Debug)]
pub struct CallResult {
    tool: String,
    result: CallToolResult,
}

impl CallResult {
    pub(super) fn new(tool: &str, result: CallToolResult) -> Self {
        Self {
            tool: tool.to_owned(),
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

    /// Its structured content, as a type.
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
        match serde_json::from_str(content.get()) {
            Ok(value) => value,
            Err(error) => panic!("`{}` gave {content}: {error}", self.tool),
        }
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
