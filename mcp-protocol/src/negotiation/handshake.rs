//! The legacy handshake: the parameters of `initialize` and the negotiation of the protocol version.
//!
//! Specification: 2025-11-25, basic/lifecycle.

use crate::jsonrpc::{ErrorObject, Member, Params};
use crate::negotiation::introduction;
use crate::types::{ClientCapabilities, Implementation};
use crate::{Era, ProtocolVersion, errors};

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
                .and_then(introduction::parse_capabilities)
                .ok_or_else(|| {
                    errors::invalid_member("capabilities", "an object of capabilities")
                })?,
            client_info: params
                .get(Member::ClientInfo)
                .and_then(introduction::parse_client_info)
                .ok_or_else(|| {
                    errors::invalid_member("clientInfo", "an object with `name` and `version`")
                })?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::{Incoming, ParseLimits, parse};

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
            let text =
                format!(r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{params}}}"#);
            let Ok(Incoming::Message(message)) = parse(text.as_bytes(), &ParseLimits::ROOMY) else {
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
