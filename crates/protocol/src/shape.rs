//! Adapts values to a protocol version: drops members introduced later and converts content that the version does not
//! support.
//!
//! All functions are pure and work on version-independent types. The functions also correct values that no version
//! allows, such as a priority that is not a number. Source: the down-conversion tables in `docs/requirements.md`,
//! section 4.

mod schema;
pub mod structured;

use std::borrow::Cow;

use crate::ProtocolVersion;
use crate::ProtocolVersion::{V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28};
use crate::shape::schema::without_boolean_schemas;
use crate::shape::structured::object_schema;
use crate::types::{
    Annotations, CallToolResult, ContentBlock, EmbeddedResource, GetPromptResult, Icon,
    Implementation, Meta, Prompt, ReadResourceResult, Resource, ResourceContents, ResourceLink,
    ResourceTemplate, ServerCapabilities, TextContent, Tool,
};

/// A value whose form depends on the protocol version.
pub trait ShapeForVersion {
    /// Adapts the value to `version`.
    fn shape(&mut self, version: ProtocolVersion);
}

/// Clears members that do not exist in versions before `$first`.
macro_rules! since {
    ($version:expr, $first:expr => $($field:expr),+) => {
        if $version < $first {
            $($field = Default::default();)+
        }
    };
}

impl ShapeForVersion for CallToolResult {
    /// Repeats structured content as text, unless the content already contains text or the author has opted out and the
    /// version supports structured content.
    fn shape(&mut self, version: ProtocolVersion) {
        shape_all(&mut self.content, version);
        let Some(json) = &self.structured_content else {
            return;
        };
        let wants_none = self.is_structured_only();
        if wants_none {
            self.content.clear();
        }
        if lacks_text(&self.content) && !(wants_none && version.has_structured_content()) {
            self.content.push(ContentBlock::text(json.get()));
        }
        since!(version, V2025_06_18 => self.structured_content);
    }
}

/// Returns `true` if none of the blocks is text, in which case structured content must be repeated as text.
fn lacks_text(content: &[ContentBlock]) -> bool {
    !content
        .iter()
        .any(|block| matches!(block, ContentBlock::Text(_)))
}

impl ShapeForVersion for GetPromptResult {
    fn shape(&mut self, version: ProtocolVersion) {
        for (index, message) in self.messages.iter_mut().enumerate() {
            shape_block(&mut message.content, version, index);
        }
    }
}

impl ShapeForVersion for ReadResourceResult {
    fn shape(&mut self, version: ProtocolVersion) {
        for contents in &mut self.contents {
            contents.shape(version);
        }
    }
}

impl ShapeForVersion for Tool {
    fn shape(&mut self, version: ProtocolVersion) {
        if version == V2025_03_26
            && let Some(title) = self.title.take()
        {
            let annotations = self.annotations.get_or_insert_default();
            annotations.title.get_or_insert(title);
        }
        since!(version, V2025_03_26 => self.annotations);
        since!(version, V2025_06_18 => self.title, self.output_schema);
        shape_meta(&mut self.meta, version);
        shape_icons(&mut self.icons, version);
        if !version.has_tasks() {
            self.execution = None;
        }
        if version >= V2026_07_28 {
            return;
        }
        self.output_schema = self.output_schema.take().map(object_schema);
        for schema in [Some(&mut self.input_schema), self.output_schema.as_mut()]
            .into_iter()
            .flatten()
        {
            if let Some(objects) = without_boolean_schemas(schema) {
                *schema = objects;
            }
        }
    }
}

impl ShapeForVersion for Prompt {
    fn shape(&mut self, version: ProtocolVersion) {
        since!(version, V2025_06_18 => self.title, self.meta);
        shape_icons(&mut self.icons, version);
        for argument in &mut self.arguments {
            since!(version, V2025_06_18 => argument.title);
        }
    }
}

impl ShapeForVersion for Resource {
    fn shape(&mut self, version: ProtocolVersion) {
        since!(version, V2025_06_18 => self.title);
        shape_meta(&mut self.meta, version);
        shape_icons(&mut self.icons, version);
        self.annotations.shape(version);
    }
}

impl ShapeForVersion for ResourceTemplate {
    fn shape(&mut self, version: ProtocolVersion) {
        since!(version, V2025_06_18 => self.title, self.meta);
        shape_icons(&mut self.icons, version);
        self.annotations.shape(version);
    }
}

impl ShapeForVersion for Implementation {
    fn shape(&mut self, version: ProtocolVersion) {
        since!(version, V2025_06_18 => self.title);
        since!(version, V2025_11_25 => self.description, self.website_url);
        shape_icons(&mut self.icons, version);
    }
}

impl ShapeForVersion for ServerCapabilities {
    /// Keeps extensions in every version. Versions before 2025-11-25 do not define the member but tolerate it, and MCP
    /// Apps are negotiated through it in every version.
    fn shape(&mut self, version: ProtocolVersion) {
        since!(version, V2025_03_26 => self.completions);
    }
}

impl ShapeForVersion for ResourceContents {
    /// Also ensures that either `text` or `blob` is present, but not both.
    fn shape(&mut self, version: ProtocolVersion) {
        shape_meta(&mut self.meta, version);
        match (&self.text, &self.blob) {
            (Some(_), Some(_)) => self.text = None,
            (None, None) => self.text = Some(String::new()),
            _ => {}
        }
    }
}

/// Removes `_meta` in versions that do not define it on definitions and contents. The entries for MCP Apps are kept,
/// because these versions tolerate them and the extension exists in all versions.
fn shape_meta(meta: &mut Option<Meta>, version: ProtocolVersion) {
    if version >= V2025_06_18 {
        return;
    }
    if let Some(kept) = meta {
        kept.retain(|key, _| matches!(key.as_str(), "ui" | "ui/resourceUri"));
        if kept.is_empty() {
            *meta = None;
        }
    }
}

impl ShapeForVersion for Option<Annotations> {
    fn shape(&mut self, version: ProtocolVersion) {
        if let Some(annotations) = self {
            since!(version, V2025_06_18 => annotations.last_modified);
            annotations.priority = annotations
                .priority
                .filter(|priority| priority.is_finite())
                .map(|priority| priority.clamp(0.0, 1.0));
        }
        if self.as_ref().is_some_and(Annotations::is_empty) {
            *self = None;
        }
    }
}

/// Removes icons that clients must not show; definitions with such icons have already been rejected.
fn shape_icons(icons: &mut Vec<Icon>, version: ProtocolVersion) {
    since!(version, V2025_11_25 => *icons);
    icons.retain(|icon| {
        let may_stay = mcp_schema::rules::icon(&icon.src).holds();
        if !may_stay {
            tracing::warn!(
                src = &*icon.src,
                "an icon was dropped because it is not an `https:` or `data:` URI"
            );
        }
        may_stay
    });
}

fn shape_all(content: &mut [ContentBlock], version: ProtocolVersion) {
    for (index, block) in content.iter_mut().enumerate() {
        shape_block(block, version, index);
    }
}

/// `index` is the block's position, which makes the URIs created here unique.
fn shape_block(block: &mut ContentBlock, version: ProtocolVersion, index: usize) {
    match block {
        ContentBlock::Audio(audio) if version < V2025_03_26 => {
            let contents = ResourceContents {
                uri: format!("audio:///{index}").into(),
                mime_type: Some(Cow::Owned(std::mem::take(&mut audio.mime_type))),
                blob: Some(std::mem::take(&mut audio.data)),
                ..ResourceContents::default()
            };
            let mut resource = EmbeddedResource::new(contents);
            resource.annotations = audio.annotations.take();
            *block = ContentBlock::Resource(resource);
        }
        ContentBlock::ResourceLink(link) if version < V2025_06_18 => {
            let mut text = TextContent::new(describe_link(link));
            text.annotations = link.annotations.take();
            *block = ContentBlock::Text(text);
        }
        _ => {}
    }
    let (annotations, meta) = match block {
        ContentBlock::Text(text) => (&mut text.annotations, &mut text.meta),
        ContentBlock::Image(image) => (&mut image.annotations, &mut image.meta),
        ContentBlock::Audio(audio) => (&mut audio.annotations, &mut audio.meta),
        ContentBlock::ResourceLink(link) => {
            shape_icons(&mut link.icons, version);
            (&mut link.annotations, &mut link.meta)
        }
        ContentBlock::Resource(embedded) => {
            embedded.resource.shape(version);
            (&mut embedded.annotations, &mut embedded.meta)
        }
    };
    since!(version, V2025_06_18 => *meta);
    annotations.shape(version);
}

/// Describes a link as text: a line such as `Title (text/plain): notes:///1`, followed by its description.
fn describe_link(link: &ResourceLink) -> String {
    let mut text = link.title.as_ref().unwrap_or(&link.name).clone();
    if let Some(mime_type) = &link.mime_type {
        text = format!("{text} ({mime_type})");
    }
    text = format!("{text}: {}", link.uri);
    if let Some(description) = &link.description {
        text = format!("{text}\n{description}");
    }
    text
}

#[cfg(test)]
mod tests;
