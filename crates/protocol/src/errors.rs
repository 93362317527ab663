//! Protocol errors, with their codes and data in each protocol version.
//!
//! The HTTP status codes are chosen elsewhere.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::ProtocolVersion::V2025_11_25;
use crate::jsonrpc::{ErrorObject, MetaMember};
use crate::{Era, ProtocolVersion};

/// The resource does not exist. Used only in legacy protocol versions.
pub const RESOURCE_NOT_FOUND: i32 = -32002;
/// A header is missing or malformed, or contradicts the body. Used only in modern protocol versions.
pub const HEADER_MISMATCH: i32 = -32020;
/// The request does not declare a required capability. Used only in modern protocol versions.
pub const MISSING_CAPABILITY: i32 = -32021;
/// The claimed version is not supported. Used only in modern protocol versions.
pub const UNSUPPORTED_VERSION: i32 = -32022;
/// The client must first send its user to a URL. Used only in revision 2025-11-25.
pub const URL_ELICITATION_REQUIRED: i32 = -32042;
/// The client has exceeded a limit on concurrent requests or a rate limit.
pub const TOO_MANY: i32 = 429;
/// The caller lacks required scopes.
pub const INSUFFICIENT_SCOPE: i32 = 403;
/// The caller's credentials, or the credentials that the server holds for the caller, are no longer accepted.
pub const INVALID_TOKEN: i32 = 401;

/// Creates the error for a method that does not exist.
#[must_use]
pub fn method_not_found(name: &str) -> ErrorObject {
    ErrorObject::new(
        ErrorObject::METHOD_NOT_FOUND,
        format!("no method `{}`", truncate_text(name)),
    )
}

/// Creates the error for an unknown tool. `like` is a similar name that the client may have meant.
#[must_use]
pub fn unknown_tool(name: &str, like: Option<&str>) -> ErrorObject {
    unknown_name("tool", name, like)
}

/// Creates the error for an unknown prompt. `like` is a similar name that the client may have meant.
#[must_use]
pub fn unknown_prompt(name: &str, like: Option<&str>) -> ErrorObject {
    unknown_name("prompt", name, like)
}

fn unknown_name(what: &str, name: &str, like: Option<&str>) -> ErrorObject {
    let mut message = format!("no {what} `{}`", truncate_text(name));
    if let Some(like) = like {
        message.push_str("; did you mean `");
        message.push_str(like);
        message.push_str("`?");
    }
    ErrorObject::invalid_params(message)
}

/// Creates the error for an unknown resource. `data.uri` is the requested URI.
#[must_use]
pub fn resource_not_found(version: ProtocolVersion, uri: &str) -> ErrorObject {
    let code = match version.era() {
        Era::Legacy => RESOURCE_NOT_FOUND,
        Era::Modern => ErrorObject::INVALID_PARAMS,
    };
    ErrorObject::new(code, format!("no resource `{}`", truncate_text(uri)))
        .with_data(json!({ "uri": uri }))
}

/// Creates the error for missing capabilities. `required` is in the form of `ClientCapabilities`, as returned by
/// [`missing_capabilities`](crate::negotiation::missing_capabilities). Legacy versions do not define a code for this
/// error.
#[must_use]
pub fn missing_capability(version: ProtocolVersion, required: Value) -> ErrorObject {
    let names = capability_names(&required);
    let message = format!("the client does not declare required capabilities: {names}");
    match version.era() {
        Era::Legacy => ErrorObject::internal(message),
        Era::Modern => {
            let data = Map::from_iter([("requiredCapabilities".to_owned(), required)]);
            ErrorObject::new(MISSING_CAPABILITY, message).with_data(data)
        }
    }
}

/// Creates the error for a request that needs an extension that the client has not declared. Legacy versions do not
/// define a code for this error, so a client that has not negotiated an extension receives an error saying that the
/// extension's methods do not exist.
#[must_use]
pub fn undeclared_extension(version: ProtocolVersion, method: &str, id: &str) -> ErrorObject {
    match version.era() {
        Era::Legacy => method_not_found(method),
        Era::Modern => {
            let settings = Value::Object(Map::from_iter([(id.to_owned(), json!({}))]));
            missing_capability(version, json!({ "extensions": settings }))
        }
    }
}

/// Returns the members of a capability object in a readable form, such as `elicitation.url, sampling`.
#[must_use]
pub fn capability_names(capabilities: &Value) -> String {
    let mut names = Vec::new();
    for (name, value) in capabilities.as_object().into_iter().flatten() {
        match value.as_object().filter(|inner| !inner.is_empty()) {
            Some(inner) => names.extend(inner.keys().map(|key| format!("{name}.{key}"))),
            None => names.push(name.clone()),
        }
    }
    names.join(", ")
}

/// Creates the error for an unsupported version. `data.requested` contains the requested version in full; truncation is
/// unnecessary because the version is always shorter than the message that contained it.
#[must_use]
pub fn unsupported_version(requested: &str) -> ErrorObject {
    ErrorObject::new(
        UNSUPPORTED_VERSION,
        format!(
            "protocol version `{}` is not supported",
            truncate_text(requested)
        ),
    )
    .with_data(json!({ "supported": ProtocolVersion::supported(), "requested": requested }))
}

/// Creates the error for a modern request that lacks a claim.
#[must_use]
pub fn missing_claim() -> ErrorObject {
    ErrorObject::invalid_params(format!(
        "`params._meta` lacks `{}` and `{}`",
        MetaMember::ProtocolVersion.as_str(),
        MetaMember::ClientCapabilities.as_str()
    ))
}

/// Creates the error for an invalid header. `header` is the header's name, spelled as in the specification.
#[must_use]
pub fn header_mismatch(header: &str, problem: &str) -> ErrorObject {
    ErrorObject::new(HEADER_MISMATCH, format!("header `{header}` {problem}"))
}

/// Creates the error for a request that does not contain a claim and arrives before `initialize`.
#[must_use]
pub fn not_initialized() -> ErrorObject {
    ErrorObject::invalid_request("not initialized: send `initialize` first")
}

/// Creates the error for a request whose id belongs to a request that has not been answered yet.
#[must_use]
pub fn id_in_use() -> ErrorObject {
    ErrorObject::invalid_request("a request with this id is still open")
}

/// Creates the error for a batch in a version that does not support batches.
#[must_use]
pub fn batch_not_supported() -> ErrorObject {
    ErrorObject::invalid_request("only sessions of protocol version 2025-03-26 support batches")
}

/// Creates the error for a request that arrives while the server ends.
#[must_use]
pub fn shutting_down() -> ErrorObject {
    ErrorObject::internal("the server is shutting down")
}

/// Creates the error for a second `initialize` request.
#[must_use]
pub fn already_initialized() -> ErrorObject {
    ErrorObject::invalid_request("already initialized")
}

/// Creates the error for a member of `params` that is missing or of the wrong type.
#[must_use]
pub fn invalid_member(name: &str, expected: &str) -> ErrorObject {
    ErrorObject::invalid_params(format!("`{name}` must be {expected}"))
}

/// Creates the error for a member of `params` that cannot be parsed.
#[must_use]
pub fn unparsable_member(name: &str, error: &serde_json::Error) -> ErrorObject {
    let problem = error.to_string();
    ErrorObject::invalid_params(format!(
        "`{name}` is not valid: {}",
        truncate_text(&problem)
    ))
}

/// Creates the error for a cursor that does not belong to the requested list.
#[must_use]
pub fn invalid_cursor() -> ErrorObject {
    ErrorObject::invalid_params("the cursor does not belong to this list; start again without one")
}

/// Creates the error for an unknown log level.
pub fn invalid_level() -> ErrorObject {
    let levels = crate::types::LoggingLevel::ALL.map(crate::types::LoggingLevel::as_str);
    ErrorObject::invalid_params(format!(
        "the log level must be one of {}",
        levels.join(", ")
    ))
}

/// Delay before a client may retry a request that exceeded a concurrency limit.
pub const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Creates the error for too many concurrent requests. The code is specific to the framework and lies outside the
/// ranges reserved for JSON-RPC and the protocol.
#[must_use]
pub fn too_many_at_once(what: &str, retry_after: Duration) -> ErrorObject {
    retry_later(format!("too many {what} at once"), retry_after)
}

/// Creates the error for an exceeded rate limit, with the same code as [`too_many_at_once`].
#[must_use]
pub fn too_often(what: &str, retry_after: Duration) -> ErrorObject {
    retry_later(format!("too many calls to {what}"), retry_after)
}

/// Creates an error for a call that is refused because it cannot be counted against its rate.
#[must_use]
pub fn uncounted(what: &str, retry_after: Duration) -> ErrorObject {
    retry_later(
        format!("calls to {what} cannot be counted at the moment"),
        retry_after,
    )
}

/// Creates an error that says nothing about the subject of the request, because the server cannot read it at the moment
/// for this reason.
#[must_use]
pub fn unknown_for_now(reason: &str, retry_after: Duration) -> ErrorObject {
    retry_later(reason.to_owned(), retry_after)
}

/// Creates an error that specifies when to retry, both in the message and in `data.retryAfterMs`. Both times are
/// rounded up.
fn retry_later(mut message: String, retry_after: Duration) -> ErrorObject {
    let milliseconds = retry_after.as_nanos().div_ceil(1_000_000);
    let milliseconds = u64::try_from(milliseconds).unwrap_or(u64::MAX);
    let _ = match milliseconds {
        0..1_000 => write!(message, "; try again in {milliseconds} ms"),
        _ => write!(message, "; try again in {} s", milliseconds.div_ceil(1_000)),
    };
    ErrorObject::new(TOO_MANY, message).with_data(json!({ "retryAfterMs": milliseconds }))
}

/// Returns the delay before a retry, in whole seconds, if the error specifies one.
#[must_use]
pub fn retry_after(error: &ErrorObject) -> Option<u64> {
    let milliseconds = error.data.as_ref()?.get("retryAfterMs")?.as_u64()?;
    Some(milliseconds.div_ceil(1_000))
}

/// Creates the error for a token that is no longer accepted. As with [`too_many_at_once`], the code is specific to the
/// framework.
#[must_use]
pub fn invalid_token() -> ErrorObject {
    ErrorObject::new(INVALID_TOKEN, "this requires a new authorization")
}

/// Creates the error for missing scopes. `needed` lists all scopes required for the request, including any that the
/// caller already has. As with [`too_many_at_once`], the code is specific to the framework. Over HTTP, the error has a
/// separate status code and challenge.
#[must_use]
pub fn insufficient_scope(needed: &[&str]) -> ErrorObject {
    let message = format!("this requires the scopes `{}`", needed.join(" "));
    ErrorObject::new(INSUFFICIENT_SCOPE, message).with_data(json!({ "scopes": needed }))
}

/// Returns all scopes that the rejected request requires, or `None` if the error does not report missing scopes.
pub fn scopes_needed(error: &ErrorObject) -> Option<Vec<&str>> {
    if error.code != INSUFFICIENT_SCOPE {
        return None;
    }
    let scopes = error.data.as_ref()?.get("scopes")?.as_array()?;
    scopes.iter().map(Value::as_str).collect()
}

/// Truncates text from a peer so that it is short enough to send back.
fn truncate_text(text: &str) -> &str {
    const MAX_BYTES: usize = 256;
    let end = (0..=MAX_BYTES.min(text.len()))
        .rev()
        .find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or_default()).unwrap_or_default()
}

// --- The error codes for failed calls in each protocol version.
//
// Handlers can choose error codes and forward codes from other servers. Codes that describe the request or the protocol
// are reserved for the framework, because only the framework knows whether they apply. A wrong code would make a client
// disconnect, repeat the handshake or stop using the method.
//
// Specification: BASE-12 and the table of codes in `docs/requirements.md`.

/// Returns the error code for the response to a call that failed with `error`.
pub fn code_of_call(error: &ErrorObject, version: ProtocolVersion) -> i32 {
    const RESERVED: std::ops::RangeInclusive<i32> = -32_768..=-32_000;
    let modern = version.era() == Era::Modern;
    let has = |member, is_it: fn(&Value) -> bool| {
        let data = error.data.as_ref();
        data.and_then(|data| data.get(member)).is_some_and(is_it)
    };
    match error.code {
        RESOURCE_NOT_FOUND if modern => ErrorObject::INVALID_PARAMS,
        code @ (RESOURCE_NOT_FOUND | ErrorObject::INVALID_PARAMS | ErrorObject::INTERNAL_ERROR) => {
            code
        }
        code @ MISSING_CAPABILITY if modern && has("requiredCapabilities", Value::is_object) => {
            code
        }
        code @ URL_ELICITATION_REQUIRED
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
    mod refusals {
        use crate::errors::*;

        #[test]
        fn an_unknown_resource_has_the_code_of_the_version() {
            for version in ProtocolVersion::ALL {
                let error = resource_not_found(version, "notes:///1");
                let expected = if version == ProtocolVersion::V2026_07_28 {
                    -32602
                } else {
                    -32002
                };
                assert_eq!(error.code, expected);
                assert_eq!(error.data, Some(json!({"uri": "notes:///1"})));
            }
        }

        #[test]
        fn an_unsupported_version_error_lists_all_versions_newest_first() {
            let error = unsupported_version("1999-01-01");
            assert_eq!(
                error.data,
                Some(json!({
                    "supported": ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
                    "requested": "1999-01-01",
                }))
            );
        }

        #[test]
        fn missing_scopes_can_be_read_from_the_error() {
            let error = insufficient_scope(&["notes:read", "notes:write"]);
            assert_eq!(
                scopes_needed(&error),
                Some(vec!["notes:read", "notes:write"])
            );
            assert_eq!(
                error.message,
                "this requires the scopes `notes:read notes:write`"
            );
            assert_eq!(scopes_needed(&ErrorObject::internal("")), None);
        }

        #[test]
        fn echoed_text_is_truncated_between_characters() {
            assert_eq!(truncate_text("é"), "é");
            let long = "é".repeat(500);
            assert_eq!(truncate_text(&long).len(), 256);
            assert_eq!(truncate_text(&format!("x{long}")).len(), 255);
        }
    }

    mod codes {
        use serde_json::json;

        use crate::errors::*;

        // Covers: BASE-12
        #[test]
        fn every_error_code_exists_in_its_protocol_version() {
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
}
