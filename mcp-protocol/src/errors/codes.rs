//! The error codes for failed calls in each protocol version.
//!
//! Handlers can choose error codes and forward codes from other servers. Codes that describe the request or the
//! protocol are reserved for the framework, because only the framework knows whether they apply. A wrong code would
//! make a client disconnect, repeat the handshake or stop using the method.
//!
//! Specification: BASE-12 and the table of codes in `docs/requirements.md`.

use serde_json::Value;

use crate::ProtocolVersion::{self, V2025_11_25};
use crate::jsonrpc::ErrorObject;
use crate::{Era, errors};

/// Returns the error code for the response to a call that failed with `error`.
pub fn code_of_call(error: &ErrorObject, version: ProtocolVersion) -> i32 {
    const RESERVED: std::ops::RangeInclusive<i32> = -32_768..=-32_000;
    let modern = version.era() == Era::Modern;
    let has = |member, is_it: fn(&Value) -> bool| {
        let data = error.data.as_ref();
        data.and_then(|data| data.get(member)).is_some_and(is_it)
    };
    match error.code {
        errors::RESOURCE_NOT_FOUND if modern => ErrorObject::INVALID_PARAMS,
        code @ (errors::RESOURCE_NOT_FOUND
        | ErrorObject::INVALID_PARAMS
        | ErrorObject::INTERNAL_ERROR) => code,
        code @ errors::MISSING_CAPABILITY
            if modern && has("requiredCapabilities", Value::is_object) =>
        {
            code
        }
        code @ errors::URL_ELICITATION_REQUIRED
            if version == V2025_11_25 && has("elicitations", Value::is_array) =>
        {
            code
        }
        // The tool exists, but its calls either cannot run as tasks or must run as tasks.
        code @ ErrorObject::METHOD_NOT_FOUND
            if version.has_tasks() && has("taskSupport", Value::is_string) =>
        {
            code
        }
        code if RESERVED.contains(&code) => ErrorObject::INTERNAL_ERROR,
        code => code,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // Covers: BASE-12
    #[test]
    fn every_code_of_an_answer_is_one_of_its_protocol_version() {
        for version in ProtocolVersion::ALL {
            let modern = version == ProtocolVersion::V2026_07_28;
            for code in (-33_000..=-31_900).chain([i32::MIN, -1, 0, 429, i32::MAX]) {
                for data in [
                    None,
                    Some(json!({
                        "requiredCapabilities": {}, "elicitations": [], "taskSupport": "forbidden",
                    })),
                ] {
                    let is_said = data.is_some();
                    let error = ErrorObject {
                        data,
                        ..ErrorObject::new(code, "")
                    };
                    let stays = match code {
                        -32602 | -32603 => true,
                        -32002 => !modern,
                        -32021 => modern && is_said,
                        -32042 | -32601 => version == V2025_11_25 && is_said,
                        code => !(-32768..=-32000).contains(&code),
                    };
                    let instead = if code == -32002 { -32602 } else { -32603 };
                    let expected = if stays { code } else { instead };
                    assert_eq!(
                        code_of_call(&error, version),
                        expected,
                        "{code} in {version:?}"
                    );
                }
            }
        }
    }
}
