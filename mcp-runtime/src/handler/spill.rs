//! Names that belong to the `spill` option.

/// The name of the tool that reads parts of a kept result.
pub(crate) const READ_RESULT: &str = "read_result";
/// The beginning of a kept result's URI. The id follows.
pub(crate) const RESULT_URI: &str = "mcp-result:///";
