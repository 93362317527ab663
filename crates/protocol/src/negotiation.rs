//! Determines a client's protocol version and capabilities. Modern clients claim both in every request; legacy clients
//! negotiate both with the server once per session.

use std::borrow::Cow;
use std::sync::OnceLock;

use serde_json::{Map, Value};

use crate::jsonrpc::{
    ErrorObject, Member, MetaMember, Params, Scan, each_member, read_json, unquote,
};
use crate::types::{
    ClientCapabilities, ClientFeature, ElicitationCapability, Icon, IconTheme, Implementation,
    LoggingLevel, Meta, RootsCapability, SamplingCapability,
};
use crate::{Era, ProtocolVersion, errors};

// --- The claim that makes a message modern: a protocol version in the `_meta` of its `params`.
//
// Only the `params` are considered; headers, the method name and earlier messages have no effect. A malformed claim is
// an error, never a reason to treat the message as legacy.
//
// Specification: 2026-07-28, basic, "Per-request metadata".

/// A message's claim.
#[derive(Debug)]
pub enum VersionClaim<'a> {
    /// The message contains no claim and is therefore legacy.
    Absent,
    /// The message claims to be modern, with a supported version.
    Valid(ModernMeta<'a>),
    /// The claimed version is unsupported or requires a handshake (error -32022).
    Unsupported(ErrorObject),
    /// A value in the claim is invalid (error -32602, whose message contains the key).
    Malformed(ErrorObject),
}

/// Metadata about a modern request and its sender.
#[derive(Clone, Copy, Debug)]
pub struct ModernMeta<'a> {
    /// The claimed version, which is supported and modern.
    pub version: ProtocolVersion,
    /// The client's capabilities, as the raw JSON of an object.
    pub raw_capabilities: &'a str,
    /// The lowest level of log messages that the client wants to receive, or `None` if it does not want log messages.
    pub log_level: Option<LoggingLevel>,
}

impl ModernMeta<'_> {
    /// Returns the capabilities that the client declares.
    #[must_use]
    pub fn capabilities(&self) -> ClientCapabilities {
        parse_capabilities(self.raw_capabilities).unwrap_or_default()
    }
}

/// Returns the client's identity from a `_meta` object that contains a valid claim.
#[must_use]
pub fn client_info(meta: &str) -> Option<Implementation> {
    let mut json = None;
    each_member(meta, |key, value| {
        if key == MetaMember::ClientInfo.as_str().as_bytes() {
            json = Some(value);
        }
    });
    parse_client_info(json?)
}

/// The first valid client information of a channel or a service, as text. Later requests often contain the same
/// information, and comparing it costs less than parsing it again.
#[derive(Debug, Default)]
pub struct KnownClientInfo(OnceLock<Box<str>>);

impl KnownClientInfo {
    /// Maximum length in bytes. Longer client information is parsed every time.
    const MAX_BYTES: usize = 1 << 10;

    fn recognizes(&self, json: &str) -> bool {
        if self.0.get().is_some_and(|known| **known == *json) {
            return true;
        }
        let is_named = has_name_and_version(json);
        if is_named && json.len() <= Self::MAX_BYTES {
            self.0.get_or_init(|| json.into());
        }
        is_named
    }
}

/// Returns a message's claim. A malformed claim is reported as malformed even if its version is unsupported.
///
/// `known` belongs to the channel or the service that received the message.
#[must_use]
pub fn claim<'a>(params: &Params<'a>, known: &KnownClientInfo) -> VersionClaim<'a> {
    if params.meta(MetaMember::ProtocolVersion).is_none() {
        return VersionClaim::Absent;
    }
    let Ok(Some(requested)) = params.meta_string(MetaMember::ProtocolVersion) else {
        return VersionClaim::Malformed(malformed_claim_error(
            MetaMember::ProtocolVersion,
            "must be a string",
        ));
    };
    let capabilities = match params.meta(MetaMember::ClientCapabilities) {
        Some(json) if json.starts_with('{') => json,
        Some(_) => {
            let error = malformed_claim_error(MetaMember::ClientCapabilities, "must be an object");
            return VersionClaim::Malformed(error);
        }
        None => {
            return VersionClaim::Malformed(malformed_claim_error(
                MetaMember::ClientCapabilities,
                "is missing",
            ));
        }
    };
    let info = params.meta(MetaMember::ClientInfo);
    if !info.is_none_or(|json| known.recognizes(json)) {
        let problem = "must be an object with `name` and `version`";
        return VersionClaim::Malformed(malformed_claim_error(MetaMember::ClientInfo, problem));
    }
    let log_level = match params.meta_string(MetaMember::LogLevel) {
        Ok(None) => None,
        Ok(Some(name)) if let Some(level) = LoggingLevel::from_wire(&name) => Some(level),
        _ => {
            let problem = format!("is invalid: {}", errors::invalid_level().message);
            return VersionClaim::Malformed(malformed_claim_error(MetaMember::LogLevel, &problem));
        }
    };
    match ProtocolVersion::from_wire(&requested).filter(|version| version.era() == Era::Modern) {
        Some(version) => VersionClaim::Valid(ModernMeta {
            version,
            raw_capabilities: capabilities,
            log_level,
        }),
        None => VersionClaim::Unsupported(errors::unsupported_version(&requested)),
    }
}

fn malformed_claim_error(member: MetaMember, problem: &str) -> ErrorObject {
    ErrorObject::invalid_params(format!("`{}` {problem}", member.as_str()))
}

// --- The legacy handshake: the parameters of `initialize` and the negotiation of the protocol version.
//
// Specification: 2025-11-25, basic/lifecycle.

/// Returns the version for the response to `initialize`: the requested version if it has a handshake, otherwise the
/// newest version that has one.
fn negotiate(requested: &str) -> ProtocolVersion {
    ProtocolVersion::from_wire(requested)
        .filter(|version| version.era() == Era::Legacy)
        .unwrap_or(ProtocolVersion::LATEST_LEGACY)
}

/// The parameters of `initialize`.
#[derive(Debug)]
pub struct InitializeParams {
    /// The negotiated version, which may differ from the requested one.
    pub version: ProtocolVersion,
    /// The capabilities that the client declares.
    pub capabilities: ClientCapabilities,
    /// The name and version of the client.
    pub client_info: Implementation,
}

impl InitializeParams {
    /// Reads the parameters of `initialize`.
    ///
    /// # Errors
    ///
    /// Returns error -32602 if a member is missing or has the wrong type; the error message contains the member's name.
    /// In `clientInfo`, only the name and the version are required.
    pub fn read(params: &Params<'_>) -> Result<Self, ErrorObject> {
        let requested = params
            .string(Member::ProtocolVersion)
            .ok()
            .flatten()
            .ok_or_else(|| errors::invalid_member("protocolVersion", "a string"))?;
        Ok(Self {
            version: negotiate(&requested),
            capabilities: params
                .get(Member::Capabilities)
                .and_then(parse_capabilities)
                .ok_or_else(|| {
                    errors::invalid_member("capabilities", "an object of capabilities")
                })?,
            client_info: params
                .get(Member::ClientInfo)
                .and_then(parse_client_info)
                .ok_or_else(|| {
                    errors::invalid_member("clientInfo", "an object with `name` and `version`")
                })?,
        })
    }
}

// --- Reads the valid parts of a client's self-description, in both eras.
//
// Only the name and the version are required. Any other member that does not match the schema is treated as absent,
// because such an error does not justify rejecting the client.
//
// Specification: 2026-07-28, schema `Implementation`, `ClientCapabilities`.

/// Returns `true` if the value is an object with exactly one name and one version, both strings.
fn has_name_and_version(json: &str) -> bool {
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

// --- Compares required capabilities with the capabilities that a client declares.

/// Returns the `needed` features that the client lacks in this version, in the form of `ClientCapabilities`, or `None`
/// if it has all of them.
#[must_use]
pub fn missing_capabilities(
    capabilities: &ClientCapabilities,
    needed: &[ClientFeature],
    version: ProtocolVersion,
) -> Option<Value> {
    let mut required = Map::new();
    for feature in needed {
        if has_feature(capabilities, *feature, version) {
            continue;
        }
        let (name, detail) = match feature {
            ClientFeature::Sampling => ("sampling", None),
            ClientFeature::SamplingTools => ("sampling", Some("tools")),
            ClientFeature::Elicitation => (
                "elicitation",
                (version >= ProtocolVersion::V2025_11_25).then_some("form"),
            ),
            ClientFeature::ElicitationUrl => ("elicitation", Some("url")),
            ClientFeature::Roots => ("roots", None),
        };
        let entry = required
            .entry(name)
            .or_insert_with(|| Value::Object(Map::new()));
        if let (Value::Object(entry), Some(detail)) = (entry, detail) {
            entry.insert(detail.to_owned(), Value::Object(Map::new()));
        }
    }
    // Elicitation without a mode already implies forms, so the mode is omitted.
    if capabilities.elicitation.is_none()
        && let Some(Value::Object(entry)) = required.get_mut("elicitation")
        && entry.len() == 1
    {
        entry.shift_remove("form");
    }
    (!required.is_empty()).then_some(Value::Object(required))
}

fn has_feature(
    capabilities: &ClientCapabilities,
    feature: ClientFeature,
    version: ProtocolVersion,
) -> bool {
    let (sampling, elicitation) = (&capabilities.sampling, &capabilities.elicitation);
    match feature {
        ClientFeature::Sampling => sampling.is_some(),
        ClientFeature::Roots => capabilities.roots.is_some(),
        ClientFeature::SamplingTools => {
            version >= ProtocolVersion::V2025_11_25
                && sampling
                    .as_ref()
                    .is_some_and(|sampling| sampling.tools.is_some())
        }
        ClientFeature::Elicitation => elicitation.as_ref().is_some_and(|elicitation| {
            match version {
                ProtocolVersion::V2024_11_05 | ProtocolVersion::V2025_03_26 => false,
                // Modes were added later, so the capability alone implies forms.
                ProtocolVersion::V2025_06_18 => true,
                _ => elicitation.has_form(),
            }
        }),
        ClientFeature::ElicitationUrl => {
            version >= ProtocolVersion::V2025_11_25
                && elicitation
                    .as_ref()
                    .is_some_and(|elicitation| elicitation.url.is_some())
        }
    }
}

#[cfg(test)]
mod tests {
    mod claim {
        use crate::jsonrpc::{Incoming, Member, ParseLimits, parse};
        use crate::negotiation::*;

        proptest::proptest! {
            #[test]
            fn reading_arbitrary_meta_does_not_panic(bytes in crate::jsonrpc::tests::damaged()) {
                if let Ok(Incoming::Message(message)) = parse(&bytes, &ParseLimits::ROOMY) {
                    let known = KnownClientInfo::default();
                    if let VersionClaim::Valid(modern) = claim(&message.params, &known) {
                        drop(modern.capabilities());
                        drop(message.params.get(Member::Meta).map(client_info));
                    }
                    drop(crate::negotiation::InitializeParams::read(&message.params));
                }
            }
        }

        #[test]
        fn only_short_and_valid_client_info_is_cached() {
            let known = KnownClientInfo::default();
            let info = |name: &str| format!(r#"{{"name":"{name}","version":"1"}}"#);
            for _ in 0..2 {
                assert!(!known.recognizes(r#"{"name":"c"}"#));
            }
            let longest = KnownClientInfo::MAX_BYTES - info("").len();
            assert!(known.recognizes(&info(&"c".repeat(longest + 1))));
            assert_eq!(known.0.get(), None);
            let longest = info(&"c".repeat(longest));
            assert!(known.recognizes(&longest));
            assert!(known.recognizes(&info("other")));
            assert_eq!(known.0.get().map(|info| &**info), Some(&*longest));
        }

        const P: &str = "io.modelcontextprotocol";

        #[test]
        fn a_claim_is_classified_as_none_valid_or_invalid() {
            let version = format!(r#""{P}/protocolVersion":"2026-07-28""#);
            let old = format!(r#""{P}/protocolVersion":"2025-11-25""#);
            let capabilities = format!(r#""{P}/clientCapabilities":{{}}"#);
            for (meta, expected) in [
                (String::new(), "none"),
                (capabilities.clone(), "none"),
                (r#""progressToken":1"#.to_owned(), "none"),
                (format!("{version},{capabilities}"), "valid"),
                (
                    format!(r#"{version},{capabilities},"{P}/logLevel":"info""#),
                    "valid",
                ),
                (
                    format!(
                        r#"{version},{capabilities},"{P}/clientInfo":{{"name":"c","version":"1","icons":3}}"#
                    ),
                    "valid",
                ),
                (
                    format!(r#""{P}/protocolVersion":null,{capabilities}"#),
                    "/protocolVersion",
                ),
                (
                    format!(r#""{P}/protocolVersion":20260728,{capabilities}"#),
                    "/protocolVersion",
                ),
                (version.clone(), "/clientCapabilities"),
                (old.clone(), "/clientCapabilities"),
                (
                    format!(r#"{version},"{P}/clientCapabilities":null"#),
                    "/clientCapabilities",
                ),
                (
                    format!(r#"{version},"{P}/clientCapabilities":[]"#),
                    "/clientCapabilities",
                ),
                (
                    format!(r#"{version},{capabilities},"{P}/clientInfo":"c""#),
                    "/clientInfo",
                ),
                (
                    format!(r#"{version},{capabilities},"{P}/clientInfo":["c","1"]"#),
                    "/clientInfo",
                ),
                (
                    format!(r#"{version},{capabilities},"{P}/clientInfo":{{"name":"c"}}"#),
                    "/clientInfo",
                ),
                (
                    format!(r#"{version},{capabilities},"{P}/logLevel":"loud""#),
                    "/logLevel",
                ),
                (
                    format!(r#"{version},{capabilities},"{P}/logLevel":null"#),
                    "/logLevel",
                ),
                (
                    format!(r#"{old},{capabilities},"{P}/logLevel":"loud""#),
                    "/logLevel",
                ),
                (format!("{old},{capabilities}"), "unsupported"),
                (
                    format!(r#""{P}/protocolVersion":"",{capabilities}"#),
                    "unsupported",
                ),
            ] {
                let text = format!(
                    r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"_meta":{{{meta}}}}}}}"#
                );
                let Ok(Incoming::Message(message)) = parse(text.as_bytes(), &ParseLimits::ROOMY)
                else {
                    panic!("{text}")
                };
                match claim(&message.params, &KnownClientInfo::default()) {
                    VersionClaim::Absent => assert_eq!(expected, "none", "{meta}"),
                    VersionClaim::Valid(_) => assert_eq!(expected, "valid", "{meta}"),
                    VersionClaim::Unsupported(error) => {
                        assert_eq!(expected, "unsupported", "{meta}");
                        assert_eq!(error.code, -32022);
                    }
                    VersionClaim::Malformed(error) => {
                        assert_eq!(error.code, -32602);
                        assert!(
                            error.message.contains(expected),
                            "{meta}: {}",
                            error.message
                        );
                    }
                }
            }
        }

        #[test]
        fn cached_client_info_is_recognized_only_if_identical() {
            let known = KnownClientInfo::default();
            for (json, expected) in [
                (r#"{"name":"a"}"#, false),
                (r#"{"name":"a","version":"1"}"#, true),
                (r#"{"name":"a","version":"1"}"#, true),
                (r#"{"name":"a","version":2}"#, false),
                (r#"{"name":"a","version":"1"}"#, true),
            ] {
                assert_eq!(known.recognizes(json), expected, "{json}");
            }
        }
    }

    mod handshake {
        use crate::jsonrpc::{Incoming, ParseLimits, parse};
        use crate::negotiation::*;

        #[test]
        fn a_known_legacy_version_is_echoed_and_anything_else_gets_the_newest() {
            for (requested, agreed) in [
                ("2024-11-05", "2024-11-05"),
                ("2025-03-26", "2025-03-26"),
                ("2025-06-18", "2025-06-18"),
                ("2025-11-25", "2025-11-25"),
                ("2026-07-28", "2025-11-25"),
                ("2099-01-01", "2025-11-25"),
                ("", "2025-11-25"),
            ] {
                assert_eq!(negotiate(requested).as_str(), agreed);
            }
        }

        #[test]
        fn a_bad_member_of_initialize_is_named() {
            for (params, problem) in [
                (
                    r#"{"protocolVersion":"2025-06-18","capabilities":{"roots":{"listChanged":true},"x":1},"clientInfo":{"name":"c","version":"1"}}"#,
                    None,
                ),
                (
                    r#"{"protocolVersion":"2025-06-18","capabilities":{"roots":{"listChanged":null},"sampling":null,"experimental":null},"clientInfo":{"name":"c","version":"1","title":null,"icons":null}}"#,
                    None,
                ),
                (
                    r#"{"protocolVersion":1,"capabilities":{},"clientInfo":{"name":"c","version":"1"}}"#,
                    Some("protocolVersion"),
                ),
                (
                    r#"{"capabilities":{},"clientInfo":{"name":"c","version":"1"}}"#,
                    Some("protocolVersion"),
                ),
                (
                    r#"{"protocolVersion":"2025-06-18","clientInfo":{"name":"c","version":"1"}}"#,
                    Some("capabilities"),
                ),
                (
                    r#"{"protocolVersion":"2025-06-18","capabilities":[],"clientInfo":{"name":"c","version":"1"}}"#,
                    Some("capabilities"),
                ),
                (
                    r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c"}}"#,
                    Some("clientInfo"),
                ),
                (
                    r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":["c","1"]}"#,
                    Some("clientInfo"),
                ),
            ] {
                let text = format!(
                    r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{params}}}"#
                );
                let Ok(Incoming::Message(message)) = parse(text.as_bytes(), &ParseLimits::ROOMY)
                else {
                    panic!("{text}")
                };
                match (InitializeParams::read(&message.params), problem) {
                    (Ok(read), None) => assert_eq!(read.version, ProtocolVersion::V2025_06_18),
                    (Err(error), Some(key)) => {
                        assert_eq!(error.code, -32602);
                        assert!(error.message.contains(key), "{}", error.message);
                    }
                    (other, _) => panic!("{params}: {other:?}"),
                }
            }
        }
    }

    mod introduction {
        use serde_json::json;

        use crate::negotiation::*;

        #[test]
        fn valid_parts_of_client_info_are_read_and_invalid_ones_ignored() {
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
        fn valid_parts_of_capabilities_are_read_and_invalid_ones_ignored() {
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
    mod requirements {
        use serde_json::json;

        use crate::negotiation::*;
        use ClientFeature::{Elicitation, ElicitationUrl, Roots, Sampling, SamplingTools};
        use ProtocolVersion as V;

        // Covers: ELIC-01, META-05
        #[test]
        fn missing_requirements_are_listed_as_a_capabilities_object() {
            for (declared, needed, version, expected) in [
                (json!({}), &[][..], V::V2026_07_28, None),
                (json!({"sampling": {}}), &[Sampling], V::V2026_07_28, None),
                (
                    json!({}),
                    &[Sampling],
                    V::V2026_07_28,
                    Some(json!({"sampling": {}})),
                ),
                (
                    json!({}),
                    &[Roots],
                    V::V2024_11_05,
                    Some(json!({"roots": {}})),
                ),
                (
                    json!({"sampling": {}}),
                    &[Sampling, SamplingTools],
                    V::V2026_07_28,
                    Some(json!({"sampling": {"tools": {}}})),
                ),
                (
                    json!({"elicitation": {}}),
                    &[Elicitation],
                    V::V2026_07_28,
                    None,
                ),
                (
                    json!({"elicitation": {}}),
                    &[Elicitation],
                    V::V2025_06_18,
                    None,
                ),
                // In this version, a client that declares elicitation supports forms, no matter what it declares about
                // modes, which were added later.
                (
                    json!({"elicitation": {"url": {}}}),
                    &[Elicitation],
                    V::V2025_06_18,
                    None,
                ),
                (
                    json!({"elicitation": {"url": {}}}),
                    &[Elicitation],
                    V::V2025_11_25,
                    Some(json!({"elicitation": {"form": {}}})),
                ),
                (
                    json!({"elicitation": {"url": {}}}),
                    &[ElicitationUrl],
                    V::V2025_06_18,
                    Some(json!({"elicitation": {"url": {}}})),
                ),
                (
                    json!({"elicitation": {}}),
                    &[Elicitation],
                    V::V2025_03_26,
                    Some(json!({"elicitation": {}})),
                ),
                (
                    json!({"elicitation": {}}),
                    &[Elicitation],
                    V::V2024_11_05,
                    Some(json!({"elicitation": {}})),
                ),
                (
                    json!({}),
                    &[Elicitation],
                    V::V2026_07_28,
                    Some(json!({"elicitation": {}})),
                ),
                (
                    json!({}),
                    &[ElicitationUrl],
                    V::V2026_07_28,
                    Some(json!({"elicitation": {"url": {}}})),
                ),
                (
                    json!({"elicitation": {"url": {}}}),
                    &[Elicitation, ElicitationUrl],
                    V::V2026_07_28,
                    Some(json!({"elicitation": {"form": {}}})),
                ),
                (
                    json!({}),
                    &[Elicitation, ElicitationUrl, Roots],
                    V::V2025_11_25,
                    Some(json!({"elicitation": {"form": {}, "url": {}}, "roots": {}})),
                ),
            ] {
                let capabilities = serde_json::from_value(declared.clone()).unwrap();
                assert_eq!(
                    missing_capabilities(&capabilities, needed, version),
                    expected,
                    "{declared} {needed:?} {version:?}"
                );
            }
        }
    }
}
