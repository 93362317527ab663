//! Rules for the strings that authors write: names, URIs, media types, headers, scopes, rates and times.
//!
//! Each rule is a `const fn`. The macros apply them to attributes, and the server applies them to definitions inserted
//! at run time, so that both report the same messages. This module does not depend on other crates, because the macros
//! are built early and should not have to wait for them.
//!
//! Specification: 2026-07-28, server/tools, "Tool Names"; RFC 6570 (templates), RFC 9110 (tokens), RFC 3986 (schemes).

mod app;
mod icon;
mod names;
mod pattern;
mod rate;
mod spill;
#[cfg(test)]
mod tests;
mod uri;

pub use app::{app_uri, csp_origin};
pub use icon::icon;
pub use names::{header, media_type, scope, timestamp, tool_name};
pub use pattern::pattern;
pub use rate::{RateKeySyntax, RateSyntax, parse_rate, rate};
pub use spill::MIN_SPILLED_BYTES;
pub use uri::{TemplateVariables, VariableSpan, template_has_variable, template_syntax, uri};

pub use crate::verdict::RuleVerdict;
