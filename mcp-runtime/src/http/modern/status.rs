//! Determines the HTTP status of an answer.

use hyper::StatusCode;

use crate::jsonrpc::ErrorObject;
use crate::protocol::errors;

/// Returns the HTTP status for the answer to a modern request, based on the answer's error code.
///
/// Handler errors keep status 200, because a client could interpret any other status as a sign that the server does not
/// support the protocol.
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
