//! Tag settings: descriptions of tags, and the selection of definitions by tag.

use mcp_core::handler::tags::{self, TagSelection};

use crate::server::Server;

impl Server {
    /// Serves only the definitions that these tags select, like the `--tags` option. Tags are separated by commas:
    /// `issues,pulls` selects the definitions that have either tag, and `-admin` selects the definitions that do not
    /// have the `admin` tag. Can be called more than once; definitions must then match every selection.
    ///
    /// ```
    /// # use mcp_runtime::prelude::*;
    /// let server = new_server!().filter_tags("issues,-admin");
    /// ```
    ///
    /// In contrast to [`only`](Self::only), which determines the values that the program must provide, a selection also
    /// applies to definitions that are created at run time, and it can exclude tags. HTTP clients can narrow it further
    /// for each request; see [Many tools](crate::guide::many_tools). For clients, definitions that are not selected do
    /// not appear to exist.
    ///
    /// Start-up fails if a tag is unknown, that is, if no definition has it and it is not described with
    /// [`describe_tag`](Self::describe_tag).
    pub fn filter_tags(mut self, tags: impl AsRef<str>) -> Self {
        self.add_tag_selection(tags.as_ref());
        self
    }

    pub(super) fn add_tag_selection(&mut self, tags: &str) {
        match TagSelection::parse(tags) {
            Ok(more) => {
                let selection = &mut self.tag_settings.selection;
                *selection = Some(
                    selection
                        .as_ref()
                        .map_or(more.clone(), |all| all.and(&more)),
                );
            }
            Err(problem) => self.faults.push(format!("tags `{tags}`: {problem}")),
        }
    }

    /// Describes a tag to models in a few words, for use with [`TagInstructions`](crate::extension::TagInstructions). A
    /// described tag can be selected even while no definition has it, because definitions with the tag may be inserted
    /// later. A description makes the tag public: anyone can learn that it exists, even callers from whom all
    /// definitions with the tag are hidden.
    ///
    /// Start-up fails if a tag is described twice or is invalid.
    pub fn describe_tag(mut self, tag: impl Into<String>, description: impl Into<String>) -> Self {
        let tag = tag.into();
        let descriptions = &mut self.tag_settings.descriptions;
        self.faults.extend(tags::problem(&tag));
        if descriptions.iter().any(|(known, _)| *known == tag) {
            self.faults
                .push(format!("the tag `{tag}` is described twice"));
        }
        descriptions.push((tag, description.into()));
        self
    }
}

/// The tag settings of a server that has not been started yet.
#[derive(Debug, Default)]
pub(super) struct TagSettings {
    pub(super) selection: Option<TagSelection>,
    pub(super) descriptions: Vec<(String, String)>,
}

impl TagSettings {
    /// Returns the tags that have a description.
    pub(super) fn described_tags(&self) -> Vec<String> {
        let tags = self.descriptions.iter().map(|(tag, _)| tag.clone());
        tags.collect()
    }
}
