//! The HTTP status of an answer.

use hyper::StatusCode;

use crate::jsonrpc::ErrorObject;
use crate::protocol::errors;

/// Returns the HTTP status for an answer in the modern era, based on its error code.
///
/// Handler errors keep status 200, because a client could take another status to mean that the server does not support
/// the protocol.
pub(super) fn modern_status(code: Option<i32>) -> StatusCode {
    match code {
        Some(ErrorObject::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        Some(errors::TOO_MANY) => StatusCode::TOO_MANY_REQUESTS,
        Some(
            errors::HEADER_MISMATCH
            | errors::MISSING_CAPABILITY
            | errors::UNSUPPORTED_VERSION
            | ErrorObject::PARSE_ERROR
            | ErrorObject::INVALID_REQUEST,
        ) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}
