//! Rules for names, URIs, media types and headers, as `const fn`s: the macros apply them at compile time to attributes, the
//! registry at run time to dynamic definitions.
//!
//! Only the syntax of a template is checked here; `handler::template` matches URIs against it.
//!
//! Specification: 2026-07-28, server/tools, "Tool Names"; RFC 6570 (templates), RFC 9110 (tokens), RFC 3986 (schemes).

mod applicable;
mod close;
mod names;
mod parameters;
mod rate;
#[cfg(test)]
mod tests;
mod uri;
mod verdict;

use crate::types::Icon;

pub use applicable::ApplicableConstraints;
pub use names::{header, media_type, scope, timestamp, tool_name};
pub use parameters::{
    completed_argument, is_argument, partial_text, resource_parameter, template, template_parameter,
};
pub use rate::rate;
pub(crate) use rate::read_rate;
pub use uri::{icon, template_has_variable, template_syntax, uri};
pub use verdict::{RuleVerdict, check};

/// Returns an error message for each icon that breaks the rules.
pub(crate) fn icon_problems(icons: &[Icon]) -> impl Iterator<Item = String> {
    icons
        .iter()
        .filter_map(|each| icon(&each.src).into_result().err())
}

/// Returns `true` if two strings are equal.
pub(crate) const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut index = 0;
    while index < a.len() {
        if a[index] != b[index] {
            return false;
        }
        index += 1;
    }
    true
}
