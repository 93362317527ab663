//! The tag settings that a server keeps until it starts. The methods for these settings are in `tags`.

use crate::handler::tags::TagSelection;

/// The tag settings of a server that has not been started yet.
#[derive(Debug, Default)]
pub(super) struct TagSettings {
    pub(super) selection: Option<TagSelection>,
    pub(super) descriptions: Vec<(String, String)>,
    pub(super) in_instructions: bool,
}
