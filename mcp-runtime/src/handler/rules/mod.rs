//! Rules that compare the parts of a function's definition with each other and with its types. They are written as
//! constant functions, which are evaluated in macro expansions.
//!
//! The rules for single strings are in `mcp_schema::rules`: the macros apply them to attributes, and the registry to
//! dynamic definitions.

mod applicable;
mod parameters;

use crate::types::Icon;

pub use applicable::ApplicableConstraints;
pub(crate) use mcp_schema::rules::{icon, scope, tool_name, uri};
pub use mcp_schema::verdict::{RuleVerdict, check};
pub use parameters::{
    completed_argument, identifying_argument, is_argument, partial_text, resource_parameter,
    template_parameter, template_variable,
};

/// Returns an error message for each icon that violates the rules.
pub(crate) fn icon_problems(icons: &[Icon]) -> impl Iterator<Item = String> {
    icons
        .iter()
        .filter_map(|each| icon(&each.src).into_result().err())
}
