//! The error object in a response.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An error in a JSON-RPC response.
///
/// Codes from -32768 to -32000 are reserved for JSON-RPC and the protocol; applications should use other codes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ErrorObject {
    /// The code that identifies the kind of error.
    pub code: i32,
    /// A description of the error in one sentence.
    pub message: String,
    /// Details for the program that receives the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<serde_json::Value>,
}

impl fmt::Display for ErrorObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl ErrorObject {
    /// The text is not valid JSON.
    pub const PARSE_ERROR: i32 = -32700;
    /// The text is valid JSON but not a valid message.
    pub const INVALID_REQUEST: i32 = -32600;
    /// The method does not exist.
    pub const METHOD_NOT_FOUND: i32 = -32601;
    /// The parameters are not valid for the method.
    pub const INVALID_PARAMS: i32 = -32602;
    /// The server failed internally.
    pub const INTERNAL_ERROR: i32 = -32603;

    /// Creates an error with the given code and message.
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// Sets the details.
    #[must_use]
    pub fn with_data(mut self, data: impl Into<serde_json::Value>) -> Self {
        self.data = Some(data.into());
        self
    }
}

#[doc(hidden)]
impl ErrorObject {
    /// Creates an error with the code [`INVALID_REQUEST`](Self::INVALID_REQUEST).
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(Self::INVALID_REQUEST, message)
    }

    /// Creates an error with the code [`INVALID_PARAMS`](Self::INVALID_PARAMS).
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(Self::INVALID_PARAMS, message)
    }

    /// Creates an error with the code [`INTERNAL_ERROR`](Self::INTERNAL_ERROR).
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Self::INTERNAL_ERROR, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_shown_with_its_code() {
        let error = ErrorObject::invalid_params("no such tool");
        assert_eq!(error.to_string(), "no such tool (-32602)");
    }
}
