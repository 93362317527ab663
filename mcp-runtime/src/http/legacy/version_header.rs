//! Reads a request's protocol version from its header.

use hyper::StatusCode;
use serde_json::json;

use crate::http::request::headers::RequestHeaders;
use crate::http::response::refusal::HttpRefusal;
use crate::jsonrpc::ErrorObject;
use crate::protocol::ProtocolVersion;

/// Reads the protocol version from the request's header.
pub(super) fn declared_version(
    headers: &RequestHeaders<'_>,
) -> Result<Option<ProtocolVersion>, HttpRefusal> {
    match headers.version {
        None => Ok(None),
        Some(Ok(date)) if let Some(version) = ProtocolVersion::from_wire(date) => Ok(Some(version)),
        Some(_) => {
            let error = ErrorObject::invalid_request(
                "`MCP-Protocol-Version` is not a supported protocol version",
            )
            .with_data(json!({ "supported": ProtocolVersion::supported() }));
            Err(HttpRefusal::new(StatusCode::BAD_REQUEST, error))
        }
    }
}

pub(super) fn is_modern(version: Option<ProtocolVersion>) -> bool {
    version.is_some_and(ProtocolVersion::is_modern)
}
