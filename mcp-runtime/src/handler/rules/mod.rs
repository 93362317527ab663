//! Rules for names, URIs, media types and headers, implemented as `const fn`s. The macros apply them to attributes at
//! compile time, and the registry applies them to dynamic definitions at run time.
//!
//! The rules for URIs and URI templates, and the verdict type that all rules return, are defined in `mcp_schema`.
//!
//! Specification: 2026-07-28, server/tools, "Tool Names"; RFC 6570 (templates), RFC 9110 (tokens), RFC 3986 (schemes).

mod app;
mod applicable;
mod icon;
mod names;
mod parameters;
mod rate;
#[cfg(test)]
mod tests;

use crate::types::Icon;

pub use app::{app_uri, csp_origin};
pub use applicable::ApplicableConstraints;
pub use icon::icon;
pub use mcp_schema::template::{template_has_variable, template_syntax, uri};
pub use mcp_schema::verdict::{RuleVerdict, check};
pub use names::{header, media_type, scope, timestamp, tool_name};
pub use parameters::{
    completed_argument, is_argument, partial_text, resource_parameter, template, template_parameter,
};
pub use rate::rate;
pub(crate) use rate::read_rate;

/// Returns an error message for each icon that violates the rules.
pub(crate) fn icon_problems(icons: &[Icon]) -> impl Iterator<Item = String> {
    icons
        .iter()
        .filter_map(|each| icon(&each.src).into_result().err())
}
