//! Reads the valid parts of a client's self-description, in both eras.
//!
//! Only the name and the version are required. Any other member that does not match the schema is treated as absent,
//! because such an error does not justify rejecting the client.
//!
//! Specification: 2026-07-28, schema `Implementation`, `ClientCapabilities`.

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::jsonrpc::{each_member, read_json};
use crate::types::{
    ClientCapabilities, ElicitationCapability, Icon, Implementation, RootsCapability,
    SamplingCapability,
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
pub(super) fn parse_client_info(json: &str) -> Option<Implementation> {
    if !has_name_and_version(json) {
        return None;
    }
    if let Some(read) = parse_json(json) {
        return Some(read);
    }
    let (name, version): (String, String) =
        (parse_member(json, "name")?, parse_member(json, "version")?);
    let mut client = Implementation::new(name, version);
    client.title = parse_member(json, "title");
    client.description = parse_member(json, "description");
    client.website_url = parse_member(json, "websiteUrl");
    let icons: Option<Vec<Box<RawValue>>> = parse_member(json, "icons");
    let icons = icons.into_iter().flatten();
    client.icons = icons.filter_map(|json| parse_icon(json.get())).collect();
    Some(client)
}

fn parse_icon(json: &str) -> Option<Icon> {
    if !is_object(json) {
        return None;
    }
    parse_json(json).or_else(|| {
        let src: String = parse_member(json, "src")?;
        let mut icon = Icon::new(src);
        icon.mime_type = parse_member(json, "mimeType");
        icon.sizes = parse_member(json, "sizes").unwrap_or_default();
        icon.theme = parse_member(json, "theme");
        Some(icon)
    })
}

/// Returns the client's capabilities, or `None` if the value is not an object.
pub(super) fn parse_capabilities(json: &str) -> Option<ClientCapabilities> {
    if !is_object(json) {
        return None;
    }
    parse_json(json).or_else(|| {
        let capability = |name| raw_member(json, name).filter(|json| is_object(json));
        Some(ClientCapabilities {
            roots: capability("roots").map(|json| RootsCapability {
                list_changed: parse_member(json, "listChanged").unwrap_or_default(),
            }),
            sampling: capability("sampling").map(|json| SamplingCapability {
                tools: parse_member(json, "tools"),
                context: parse_member(json, "context"),
            }),
            elicitation: capability("elicitation").and_then(parse_elicitation),
            experimental: parse_member(json, "experimental").unwrap_or_default(),
            extensions: parse_member(json, "extensions").unwrap_or_default(),
        })
    })
}

fn parse_elicitation(json: &str) -> Option<ElicitationCapability> {
    let (form, url) = (raw_member(json, "form"), raw_member(json, "url"));
    let read = ElicitationCapability {
        form: form.and_then(parse_json),
        url: url.and_then(parse_json),
    };
    // An empty object means that forms are supported; an object with only invalid modes does not.
    let is_empty = form.is_none() && url.is_none();
    (is_empty || read.form.is_some() || read.url.is_some()).then_some(read)
}

fn is_object(json: &str) -> bool {
    json.starts_with('{')
}

fn parse_json<T: DeserializeOwned>(json: &str) -> Option<T> {
    read_json(json).ok()
}

/// Returns the raw JSON of a member. `null` counts as absent.
fn raw_member<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    let mut found = None;
    each_member(object, |key, value| {
        if key == name.as_bytes() {
            found = Some(value);
        }
    });
    found.filter(|value| *value != "null")
}

/// Returns a member if it is present and can be parsed.
fn parse_member<T: DeserializeOwned>(object: &str, name: &str) -> Option<T> {
    parse_json(raw_member(object, name)?)
}
