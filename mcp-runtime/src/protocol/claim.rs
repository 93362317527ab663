//! The claim that makes a message modern: `_meta` of its `params` names a revision.
//!
//! The body decides: no header, method name or earlier message matters here. A claim that is malformed is an error, never a
//! reason to take the message for a legacy one.
//!
//! Specification: 2026-07-28, basic, "Per-request metadata".

use crate::jsonrpc::{ErrorObject, MetaMember, Params, each_member};
use crate::protocol::introduction::{self, is_named};
use crate::protocol::{Era, ProtocolVersion, errors};
use crate::types::{ClientCapabilities, Implementation, LoggingLevel};

/// What a message claims.
#[derive(Debug)]
pub(crate) enum Claim<'a> {
    /// Nothing: the message is a legacy one.
    None,
    /// To be modern, in a revision that is served.
    Valid(Modern<'a>),
    /// A revision that is not served without a handshake: -32022.
    Unsupported(ErrorObject),
    /// Something that cannot be read: -32602, naming the key.
    Malformed(ErrorObject),
}

/// What a modern request says about itself and its sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Modern<'a> {
    pub(crate) version: ProtocolVersion,
    /// Raw, an object.
    pub(crate) raw_capabilities: &'a str,
    /// The mildest log message the client wants; none if it wants none.
    pub(crate) log_level: Option<LoggingLevel>,
}

impl Modern<'_> {
    /// What the client can be asked for.
    pub(crate) fn capabilities(&self) -> ClientCapabilities {
        introduction::capabilities(self.raw_capabilities).unwrap_or_default()
    }
}

/// Who is asking, by a `_meta` that was claimed with.
pub(crate) fn client_info(meta: &str) -> Option<Implementation> {
    let mut json = None;
    each_member(meta, |key, value| {
        if key == MetaMember::ClientInfo.as_str().as_bytes() {
            json = Some(value);
        }
    });
    introduction::implementation(json?)
}

/// Client information that was in order, as text: most clients say the same in every request, and it need not be read again.
#[derive(Debug, Default)]
pub(crate) struct Known(Box<str>);

impl Known {
    /// Longer ones are read each time.
    const MOST: usize = 1 << 10;

    fn admits(&mut self, json: &str) -> bool {
        if *self.0 == *json {
            return true;
        }
        let is_named = is_named(json);
        if is_named && json.len() <= Self::MOST {
            self.0 = json.into();
        }
        is_named
    }
}

/// What a message claims. Whether the claim can be read is decided before whether it is served.
///
/// `known` is what was said earlier on the same channel, if it is one of many requests.
pub(crate) fn claim<'a>(params: &Params<'a>, known: Option<&mut Known>) -> Claim<'a> {
    if params.meta(MetaMember::ProtocolVersion).is_none() {
        return Claim::None;
    }
    let Ok(Some(requested)) = params.meta_string(MetaMember::ProtocolVersion) else {
        return Claim::Malformed(malformed(MetaMember::ProtocolVersion, "must be a string"));
    };
    let capabilities = match params.meta(MetaMember::ClientCapabilities) {
        Some(json) if json.starts_with('{') => json,
        Some(_) => {
            let error = malformed(MetaMember::ClientCapabilities, "must be an object");
            return Claim::Malformed(error);
        }
        None => {
            return Claim::Malformed(malformed(MetaMember::ClientCapabilities, "is missing"));
        }
    };
    let admits = |json: &str| match known {
        Some(known) => known.admits(json),
        None => is_named(json),
    };
    if !params.meta(MetaMember::ClientInfo).is_none_or(admits) {
        let problem = "must be an object with `name` and `version`";
        return Claim::Malformed(malformed(MetaMember::ClientInfo, problem));
    }
    let log_level = match params.meta_string(MetaMember::LogLevel) {
        Ok(None) => None,
        Ok(Some(name)) if let Some(level) = LoggingLevel::from_wire(&name) => Some(level),
        _ => {
            let problem = format!("is no level: {}", errors::invalid_level().message);
            return Claim::Malformed(malformed(MetaMember::LogLevel, &problem));
        }
    };
    match ProtocolVersion::from_wire(&requested).filter(|version| version.era() == Era::Modern) {
        Some(version) => Claim::Valid(Modern {
            version,
            raw_capabilities: capabilities,
            log_level,
        }),
        None => Claim::Unsupported(errors::unsupported_version(&requested)),
    }
}

fn malformed(member: MetaMember, problem: &str) -> ErrorObject {
    ErrorObject::invalid_params(format!("`{}` {problem}", member.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::{Incoming, Member, parse};
    use crate::limits::Limits;

    proptest::proptest! {
        #[test]
        fn nothing_a_peer_sends_panics(bytes in crate::jsonrpc::tests::damaged()) {
            if let Ok(Incoming::Message(message)) = parse(&bytes, &Limits::default()) {
                if let Claim::Valid(modern) = claim(&message.params, None) {
                    drop(modern.capabilities());
                    drop(message.params.get(Member::Meta).map(client_info));
                }
                drop(crate::protocol::InitializeParams::read(&message.params));
            }
        }
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
            let Ok(Incoming::Message(message)) = parse(text.as_bytes(), &Limits::default()) else {
                panic!("{text}")
            };
            match claim(&message.params, None) {
                Claim::None => assert_eq!(expected, "none", "{meta}"),
                Claim::Valid(_) => assert_eq!(expected, "valid", "{meta}"),
                Claim::Unsupported(error) => {
                    assert_eq!(expected, "unsupported", "{meta}");
                    assert_eq!(error.code, -32022);
                }
                Claim::Malformed(error) => {
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
        let mut known = Known::default();
        for (json, expected) in [
            (r#"{"name":"a"}"#, false),
            (r#"{"name":"a","version":"1"}"#, true),
            (r#"{"name":"a","version":"1"}"#, true),
            (r#"{"name":"a","version":2}"#, false),
            (r#"{"name":"a","version":"1"}"#, true),
        ] {
            assert_eq!(known.admits(json), expected, "{json}");
        }
    }
}
