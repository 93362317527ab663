//! Rules for the options of a tool.

use crate::errors::Errors;
use crate::parse::tool::ToolOptions;

/// Checks that a read-only tool is not also marked as destructive.
pub(crate) fn check_tool_options(options: &ToolOptions, errors: &mut Errors) {
    if let (Some(read_only), Some(destructive)) = (&options.read_only, &options.destructive)
        && read_only.value
        && destructive.value
    {
        errors.push(syn::Error::new(
            destructive.key,
            "a tool cannot be both `read_only` and `destructive`",
        ));
    }
}
