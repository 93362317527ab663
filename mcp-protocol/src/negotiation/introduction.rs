//! Reads the valid parts of a client's self-description, in both eras.
//!
//! Only the name and the version are required. Any other member that does not match the schema is treated as absent,
//! because such an error does not justify rejecting the client.
//!
//! Specification: 2026-07-28, schema `Implementation`, `ClientCapabilities`.

use std::borrow::Cow;

use crate::jsonrpc::{Scan, each_member, read_json, unquote};
use crate::types::{
    ClientCapabilities, ElicitationCapability, Icon, IconTheme, Implementation, Meta,
    RootsCapability, SamplingCapability,
};

/// Returns `true` if the value is an object with exactly one name and one version, both strings.
pub(super) fn has_name_and_version(json: &str) -> bool {
    let (mut name, mut version) = (0, 0);
    each_member(json, |key, value| match key {
        b"name" => name += 1 + usize::from(!value.starts_with('"')),
        b"version" => version += 1 + usize::from(!value.starts_with('"')),
        _ => {}
    });
    is_object(json) && (name, version) == (1, 1)
}

/// Returns the client's identity, or `None` if the name or the version is missing.
#[must_use]
pub fn parse_client_info(json: &str) -> Option<Implementation> {
    if !has_name_and_version(json) {
        return None;
    }
    let (mut name, mut version) = (None, None);
    let mut client = Implementation::default();
    members(json, &mut |key, value| match key {
        b"name" => name = text(value),
        b"version" => version = text(value),
        b"title" => client.title = text(value),
        b"description" => client.description = text(value),
        b"websiteUrl" => client.website_url = text(value),
        b"icons" => {
            client.icons = Vec::new();
            items(value, &mut |icon| client.icons.extend(parse_icon(icon)));
        }
        _ => {}
    });
    (client.name, client.version) = (name?, version?);
    Some(client)
}

fn parse_icon(json: &str) -> Option<Icon> {
    let mut src = None;
    let mut icon = Icon::new("");
    let mut sizes = Vec::new();
    members(json, &mut |key, value| match key {
        b"src" => src = text(value),
        b"mimeType" => icon.mime_type = text(value).map(Into::into),
        b"sizes" => {
            sizes.clear();
            let mut are_valid = true;
            items(value, &mut |size| match text(size) {
                Some(size) => sizes.push(Cow::<'static, str>::Owned(size)),
                None => are_valid = false,
            });
            if !are_valid {
                sizes.clear();
            }
        }
        b"theme" => {
            icon.theme = match value {
                "\"light\"" => Some(IconTheme::Light),
                "\"dark\"" => Some(IconTheme::Dark),
                _ => None,
            };
        }
        _ => {}
    });
    icon.src = src?.into();
    icon.sizes = sizes.into();
    Some(icon)
}

/// Returns the client's capabilities, or `None` if the value is not an object.
#[must_use]
pub fn parse_capabilities(json: &str) -> Option<ClientCapabilities> {
    if !is_object(json) {
        return None;
    }
    let mut read = ClientCapabilities::default();
    members(json, &mut |key, value| match key {
        b"roots" => read.roots = is_settings(value).then(|| parse_roots(value)),
        b"sampling" => read.sampling = is_settings(value).then(|| parse_sampling(value)),
        b"elicitation" => read.elicitation = parse_elicitation(value),
        b"experimental" => read.experimental = object(value).unwrap_or_default(),
        b"extensions" => read.extensions = object(value).unwrap_or_default(),
        _ => {}
    });
    Some(read)
}

fn parse_roots(json: &str) -> RootsCapability {
    let mut read = RootsCapability::default();
    members(json, &mut |key, value| {
        if key == b"listChanged" {
            read.list_changed = value == "true";
        }
    });
    read
}

fn parse_sampling(json: &str) -> SamplingCapability {
    let mut read = SamplingCapability::default();
    members(json, &mut |key, value| match key {
        b"tools" => read.tools = object(value),
        b"context" => read.context = object(value),
        _ => {}
    });
    read
}

fn parse_elicitation(json: &str) -> Option<ElicitationCapability> {
    let mut read = ElicitationCapability::default();
    let (mut form, mut url) = (false, false);
    members(json, &mut |key, value| match key {
        b"form" => (form, read.form) = (value != "null", object(value)),
        b"url" => (url, read.url) = (value != "null", object(value)),
        _ => {}
    });
    // An empty object means that forms are supported; an object with only invalid modes does not.
    let is_supported = !(form || url) || read.form.is_some() || read.url.is_some();
    (is_settings(json) && is_supported).then_some(read)
}

fn is_object(json: &str) -> bool {
    json.starts_with('{')
}

/// Returns `true` for an object, and for an empty array, which is how PHP writes an empty object.
fn is_settings(json: &str) -> bool {
    is_object(json) || json == "[]"
}

/// Calls `each` for every member of an object.
fn members(object: &str, each: &mut dyn FnMut(&[u8], &str)) {
    each_member(object, |key, value| each(key, value));
}

/// Calls `each` for every item of an array.
fn items(array: &str, each: &mut dyn FnMut(&str)) {
    Scan::new(array).items(|scan| {
        each(scan.next_value()?);
        Some(())
    });
}

fn text(json: &str) -> Option<String> {
    unquote(json).ok().map(Cow::into_owned)
}

fn object(json: &str) -> Option<Meta> {
    is_object(json).then(|| read_json(json).ok())?
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_client_says_of_itself_is_read_as_far_as_it_is_valid() {
        let whole = json!({
            "name": "c\n", "version": "1", "title": "C", "description": "d", "websiteUrl": "https://c.example",
            "icons": [
                {"src": "https://c.example/a.png", "mimeType": "image/png", "sizes": ["48x48", "any"], "theme": "dark"},
                {"src": "data:,"},
            ],
        });
        let read = parse_client_info(&whole.to_string()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), whole);
        let parts = json!({
            "name": "c", "version": "1", "title": 1, "description": null, "websiteUrl": [], "x": {},
            "icons": [{"mimeType": "image/png"}, "data:,", {"src": "data:,", "sizes": {}, "theme": "grey", "mimeType": 2}],
        });
        let read = parse_client_info(&parts.to_string()).unwrap();
        let valid = json!({"name": "c", "version": "1", "icons": [{"src": "data:,"}]});
        assert_eq!(serde_json::to_value(&read).unwrap(), valid);
        for nobody in [
            "{}",
            "[]",
            r#"{"name": "c", "version": 1}"#,
            r#"{"name": "c", "name": "d", "version": "1"}"#,
        ] {
            assert_eq!(parse_client_info(nobody), None, "{nobody}");
        }
    }

    #[test]
    fn capabilities_are_read_as_far_as_they_are_valid() {
        for (declared, valid) in [
            (json!({}), json!({})),
            (
                json!({
                    "roots": {"listChanged": true}, "sampling": {"tools": {}, "context": {"a": 1}},
                    "elicitation": {"form": {}, "url": {"b": [1.5]}}, "experimental": {"c": null}, "extensions": {"d/e": {}},
                }),
                json!({
                    "roots": {"listChanged": true}, "sampling": {"tools": {}, "context": {"a": 1}},
                    "elicitation": {"form": {}, "url": {"b": [1.5]}}, "experimental": {"c": null}, "extensions": {"d/e": {}},
                }),
            ),
            (
                json!({"roots": {"listChanged": "yes"}, "sampling": {"tools": 1}, "elicitation": {}, "extensions": []}),
                json!({"roots": {}, "sampling": {}, "elicitation": {}}),
            ),
            (
                json!({"roots": [true], "sampling": null, "elicitation": {"form": 1, "url": null}, "experimental": 2}),
                json!({}),
            ),
            (
                json!({"roots": [], "sampling": [], "elicitation": []}),
                json!({"roots": {}, "sampling": {}, "elicitation": {}}),
            ),
            (
                json!({"elicitation": {"form": null, "url": {}}}),
                json!({"elicitation": {"url": {}}}),
            ),
        ] {
            let read = parse_capabilities(&declared.to_string()).unwrap();
            assert_eq!(serde_json::to_value(&read).unwrap(), valid, "{declared}");
        }
        assert_eq!(parse_capabilities("[]"), None);
    }
}
