//! The claim that makes a message modern: a protocol version in the `_meta` of its `params`.
//!
//! Only the `params` are considered; headers, the method name and earlier messages have no effect. A malformed claim
//! is an error, never a reason to treat the message as legacy.
//!
//! Specification: 2026-07-28, basic, "Per-request metadata".

use std::sync::OnceLock;

use crate::jsonrpc::{ErrorObject, MetaMember, Params, each_member};
use crate::negotiation::introduction::{self, has_name_and_version};
use crate::types::{ClientCapabilities, Implementation, LoggingLevel};
use crate::{Era, ProtocolVersion, errors};

/// A message's claim.
#[derive(Debug)]
pub enum VersionClaim<'a> {
    /// The message contains no claim and is therefore legacy.
    None,
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
        introduction::parse_capabilities(self.raw_capabilities).unwrap_or_default()
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
    introduction::parse_client_info(json?)
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
        return VersionClaim::None;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::{Incoming, Member, ParseLimits, parse};

    proptest::proptest! {
        #[test]
        fn nothing_a_peer_sends_panics(bytes in crate::jsonrpc::tests::damaged()) {
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
    fn only_short_and_valid_client_information_is_known_from_then_on() {
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
    fn a_claim_is_read_before_it_is_judged() {
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
            let Ok(Incoming::Message(message)) = parse(text.as_bytes(), &ParseLimits::ROOMY) else {
                panic!("{text}")
            };
            match claim(&message.params, &KnownClientInfo::default()) {
                VersionClaim::None => assert_eq!(expected, "none", "{meta}"),
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
    fn what_is_known_admits_itself_and_nothing_else() {
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
