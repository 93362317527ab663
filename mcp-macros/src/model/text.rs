//! Rules for the text in attributes: names, URIs, scopes, icons, media types, headers, rates and times.
//!
//! The rules themselves are in `mcp_schema`, because the server applies them to definitions that it gets while it runs.

use mcp_schema::rules::{self, RuleVerdict};

use crate::errors::Errors;
use crate::model::handler::Handler;
use crate::parse::access::Scopes;
use crate::parse::kind::Kind;
use crate::parse::options::Options;

/// Adds an error for each text that violates its rule.
pub(crate) fn check(handler: &Handler, errors: &mut Errors) {
    if handler.kind == Kind::Tool {
        let name = &handler.name;
        let verdict = rules::tool_name(&name.value);
        if !verdict.holds() {
            errors.push_and_expand(syn::Error::new(name.span, verdict.text()));
        }
    }
    let mut check = |rule: fn(&str) -> RuleVerdict, text: &syn::LitStr| {
        let verdict = rule(&text.value());
        if !verdict.holds() {
            errors.push_and_expand(syn::Error::new(text.span(), verdict.text()));
        }
    };
    if let Some(listed) = handler.options.listed() {
        for scope in listed.scopes.iter().flat_map(|Scopes(scopes)| scopes) {
            check(rules::scope, scope);
        }
        for icon in listed.icons.iter().flat_map(|icons| &icons.0) {
            check(rules::icon, &icon.src);
        }
    }
    if let Some(rate) = &handler.options.common().guards.rate {
        check(rules::rate, rate);
    }
    for parameter in &handler.parameters {
        if let Some(header) = &parameter.annotations.options.header {
            check(rules::header, header);
        }
    }
    if let Options::Resource(uri, resource) = &handler.options {
        if handler.kind == Kind::ResourceTemplate {
            check(rules::template_syntax, uri);
        } else {
            check(rules::uri, uri);
        }
        if let Some(mime_type) = &resource.mime_type {
            check(rules::media_type, mime_type);
        }
        if let Some(time) = &resource.last_modified {
            check(rules::timestamp, time);
        }
    }
}
