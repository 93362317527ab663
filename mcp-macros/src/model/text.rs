//! Rules for the text in attributes: names, URIs, scopes, icons, media types, headers, rates and times.
//!
//! The rules themselves are in `mcp_schema`, because the server also applies them to definitions that are inserted at
//! run time.

use mcp_schema::rules::{self, RuleVerdict};

use crate::errors::Errors;
use crate::model::handler::Handler;
use crate::parse::access::Scopes;
use crate::parse::app::{AppOptions, Csp};
use crate::parse::kind::Kind;
use crate::parse::listed::{CommonOptions, ListedOptions};
use crate::parse::options::Options;

/// Adds an error for each string that violates its rule.
pub(crate) fn check_handler_texts(handler: &Handler, errors: &mut Errors) {
    if handler.kind == Kind::Tool {
        let name = &handler.name;
        let verdict = rules::tool_name(&name.value);
        if !verdict.holds() {
            errors.push_and_expand(syn::Error::new(name.span, verdict.text()));
        }
    }
    if let Some(listed) = handler.options.listed() {
        check_listed_texts(listed, errors);
    } else {
        check_rate(handler.options.common(), errors);
    }
    let mut check = |rule: fn(&str) -> RuleVerdict, text: &syn::LitStr| {
        check_text(rule, text, errors);
    };
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

/// Adds an error for each string in a page's options that violates its rule.
pub(crate) fn check_app_texts(options: &AppOptions, errors: &mut Errors) {
    check_listed_texts(&options.listed, errors);
    if let Some(uri) = &options.uri {
        check_text(rules::app_uri, uri, errors);
    }
    for (_, origins) in options.csp.iter().flat_map(Csp::lists) {
        for origin in origins {
            check_text(rules::csp_origin, origin, errors);
        }
    }
}

/// Checks the options that every listed definition has.
fn check_listed_texts(listed: &ListedOptions, errors: &mut Errors) {
    for scope in listed.scopes.iter().flat_map(|Scopes(scopes)| scopes) {
        check_text(rules::scope, scope, errors);
    }
    for icon in listed.icons.iter().flat_map(|icons| &icons.0) {
        check_text(rules::icon, &icon.src, errors);
    }
    check_rate(&listed.common, errors);
}

fn check_rate(common: &CommonOptions, errors: &mut Errors) {
    if let Some(rate) = &common.guards.rate {
        check_text(rules::rate, rate, errors);
    }
}

fn check_text(rule: fn(&str) -> RuleVerdict, text: &syn::LitStr, errors: &mut Errors) {
    let verdict = rule(&text.value());
    if !verdict.holds() {
        errors.push_and_expand(syn::Error::new(text.span(), verdict.text()));
    }
}
