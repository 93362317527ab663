//! The protocol version that a request declares in its body and its header, and the capabilities that it declares in
//! its body.

use crate::http::request::headers::RequestHeaders;
use crate::jsonrpc::{ErrorObject, MetaMember, Params};
use crate::protocol::errors;
use crate::protocol::negotiation::{KnownClientInfo, ModernMeta, VersionClaim, claim};

/// Reads the protocol version and capabilities claimed in the body and compares the version with the header. A
/// malformed claim is reported first, then a header mismatch, and finally an unsupported version.
pub(super) fn read_claim<'m>(
    known: &KnownClientInfo,
    headers: &RequestHeaders<'_>,
    params: &Params<'m>,
) -> Result<ModernMeta<'m>, ErrorObject> {
    let claim = claim(params, known);
    if let VersionClaim::Malformed(error) = claim {
        return Err(error);
    }
    headers.check_modern()?;
    let claimed = params
        .meta_string(MetaMember::ProtocolVersion)
        .ok()
        .flatten();
    match headers.version {
        None => {
            return Err(errors::header_mismatch(
                "MCP-Protocol-Version",
                "is missing",
            ));
        }
        Some(Ok(sent)) if claimed.is_some_and(|claimed| claimed == sent) => {}
        Some(_) => {
            let problem = "does not match the protocol version in the body";
            return Err(errors::header_mismatch("MCP-Protocol-Version", problem));
        }
    }
    match claim {
        VersionClaim::Valid(modern) => Ok(modern),
        VersionClaim::Unsupported(error) | VersionClaim::Malformed(error) => Err(error),
        VersionClaim::None => Err(errors::missing_claim()),
    }
}
