//! What a revision may see of a value: fields newer than it are dropped, content it lacks is converted.
//!
//! Pure functions over neutral values. Source: the down-conversion tables in `docs/requirements.md`, section 4.

use crate::protocol::ProtocolVersion;
use crate::types::{
    CallToolResult, GetPromptResult, Implementation, Prompt, ReadResourceResult, Resource,
    ResourceTemplate, ServerCapabilities, Tool,
};

/// A value that looks different in different revisions.
pub(crate) trait Shape {
    /// Makes it what `version` may see.
    fn shape(&mut self, version: ProtocolVersion);
}

macro_rules! pending {
    ($($type:ty)*) => {$(impl Shape for $type { fn shape(&mut self, version: ProtocolVersion) { let _ = version; todo!() } })*};
}
pending!(CallToolResult GetPromptResult Implementation Prompt ReadResourceResult Resource ResourceTemplate ServerCapabilities Tool);
