//! Settings about tags: their descriptions, and the definitions that are selected by them.

use crate::handler::tags::{self, TagSelection};
use crate::server::Server;

impl Server {
    /// Serves only the definitions that these tags select, as the option `--tags` does. Tags are separated by commas:
    /// `issues,pulls` selects the definitions with one of these tags, `-admin` those without a tag. Can be called more
    /// than once; definitions must then be in each selection.
    ///
    /// ```
    /// # use mcp_runtime::prelude::*;
    /// let server = new_server!().select_tags("issues,-admin");
    /// ```
    ///
    /// In contrast to [`tags`](Self::tags), which decides what the program needs to provide, a selection also applies to
    /// definitions that are made at run time, and it can exclude tags. HTTP clients can narrow it further for each request;
    /// see [Many tools](crate::guide::many_tools). Definitions that are not selected are answered like ones that do not exist.
    ///
    /// Start-up fails if a tag is unknown: no definition has it, and [`describe_tag`](Self::describe_tag) does not name
    /// it.
    pub fn select_tags(mut self, tags: impl AsRef<str>) -> Self {
        let tags = tags.as_ref();
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
        self
    }

    /// Describes a tag to models, in a few words, for [`tags_in_instructions`](Self::tags_in_instructions). A described
    /// tag can be selected even while no definition has it, because definitions with it may be inserted later. This makes
    /// the tag public: anyone can learn that it exists, even if definitions with it are hidden from them.
    ///
    /// Start-up fails if a tag is described twice, or if it cannot be a tag.
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

    /// Sets whether the [`instructions`](Self::instructions) end with a line for each tag, which has the tag's description
    /// and the names of its tools. Each client reads only about tools that it may use. Defaults to `false`.
    pub fn tags_in_instructions(mut self, show: bool) -> Self {
        self.tag_settings.in_instructions = show;
        self
    }
}
