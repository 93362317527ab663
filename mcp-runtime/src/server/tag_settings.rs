//! Settings about tags, as a server keeps them until it starts. `tags` has the methods that set them.

use crate::handler::tags::TagSelection;

/// The settings of a server that has not been started yet about tags.
#[derive(Debug, Default)]
pub(super) struct TagSettings {
    pub(super) selection: Option<TagSelection>,
    pub(super) descriptions: Vec<(String, String)>,
    pub(super) in_instructions: bool,
}
