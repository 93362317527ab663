//! Settings about tags, as a server keeps them until it starts. `tags` has the methods that set them.

use crate::context::Caller;
use crate::error::{Error, ErrorKind};
use crate::handler::tags::TagSelection;
use crate::registry::Registry;

/// The settings of a server that has not been started yet about tags.
#[derive(Debug, Default)]
pub(super) struct TagSettings {
    pub(super) selection: Option<TagSelection>,
    pub(super) descriptions: Vec<(String, String)>,
    pub(super) in_instructions: bool,
}

impl TagSettings {
    /// Fails if a selected tag is unknown.
    pub(super) fn check(
        selection: Option<&TagSelection>,
        registry: &Registry,
    ) -> Result<(), Error> {
        let check = |selection| registry.check_tags(selection, &Caller::trusted());
        let checked = selection.map_or(Ok(()), check);
        checked.map_err(|unknown| Error::new(ErrorKind::Configuration, unknown.to_string()))
    }
}
