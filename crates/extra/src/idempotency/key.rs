//! A call's idempotency key: some of its arguments, or a key sent by its client.

use std::borrow::Cow;
use std::sync::Arc;

use mcp_core::context::{Context, OnceStore, RequestSource};
use mcp_core::handler::decode::ArgumentIdentities;
use mcp_core::handler::handler_error::{HandlerError, Result};
use mcp_core::handler::middleware::Call;
use mcp_core::handler::option::ReadMember;
use mcp_core::limits::IdempotencyLimits;
use mcp_core::seal::Binding;
use mcp_protocol::jsonrpc::{ErrorObject, Member};

/// The `_meta` key in which clients send an idempotency key.
const META_KEY: &str = "mcp-runtime/idempotencyKey";

/// The header in which clients send an idempotency key.
#[cfg(feature = "http")]
const HEADER: &str = "idempotency-key";

/// A call's key.
pub(super) struct CallKey {
    /// The caller or session to which the key belongs.
    pub(super) owner: String,
    /// Identifies the server, the caller, the tool and the key.
    pub(super) digest: [u8; 32],
    /// Identifies the server, the caller, the tool and the arguments.
    pub(super) arguments: [u8; 32],
    /// The key's name in messages for the model.
    name: String,
}

/// Returns `true` if the client may have sent a key.
pub(super) fn may_have_key(member: &ReadMember<'_>, source: &RequestSource) -> bool {
    #[cfg(feature = "http")]
    if let Some(parts) = source.http_parts()
        && parts.has_header(HEADER)
    {
        return true;
    }
    #[cfg(not(feature = "http"))]
    let _ = source;
    // The name can contain escapes.
    member(Member::Meta).is_some_and(|meta| meta.contains(META_KEY) || meta.contains('\\'))
}

impl CallKey {
    /// Returns the key of a call, or `None` if it has none. `names` are the arguments that identify calls of its tool.
    ///
    /// # Errors
    ///
    /// Fails if the key is invalid, or if the client sent one that cannot be distinguished from other callers' keys.
    pub(super) fn of(
        call: &Call,
        names: Option<&[&str]>,
        settings: &Idempotency,
    ) -> Result<Option<Self>> {
        let owner = owner(call.context());
        if let Some(names) = names {
            let arguments = call.argument_identities();
            // The tool's own arguments identify the call better than a key that a client makes up.
            return Ok(match (owner, of_arguments(names, &arguments)?) {
                (Some(owner), Some((name, key))) => {
                    Some(Self::new(call, settings, (owner, name, &key), &arguments)?)
                }
                _ => None,
            });
        }
        let Some(key) = sent_key(call.context(), settings.limits.max_key_bytes)? else {
            return Ok(None);
        };
        let owner = owner.ok_or_else(|| {
            invalid(
                "an idempotency key needs a caller with credentials or a session, because other callers cannot be \
                 distinguished; nothing was done",
            )
        })?;
        let key = serde_json::json!(["sent", key]).to_string();
        let name = "idempotency key".to_owned();
        let arguments = call.argument_identities();
        Self::new(call, settings, (owner, name, &key), &arguments).map(Some)
    }

    fn new(
        call: &Call,
        settings: &Idempotency,
        (owner, name, key): (String, String, &str),
        arguments: &ArgumentIdentities,
    ) -> Result<Self> {
        let arguments = object(arguments)?;
        let binding = |method, arguments| Binding {
            server: &settings.server,
            principal: &owner,
            method,
            name: call.name(),
            arguments,
        };
        Ok(Self {
            digest: binding("idempotency key", key).digest(),
            arguments: binding("tools/call", &arguments).digest(),
            owner,
            name,
        })
    }

    /// Returns the error for a call whose key belongs to a call with different arguments.
    pub(super) fn other_arguments(&self) -> HandlerError {
        let name = &self.name;
        HandlerError::exposed(format_args!(
            "an earlier call with the same {name} had different arguments, so nothing was done; repeat the arguments \
             to get its result, or use another {name} for a different call"
        ))
    }

    /// Returns the error for a repeat of a call that has not ended in time.
    pub(super) fn still_running(&self) -> HandlerError {
        let name = &self.name;
        HandlerError::exposed(format_args!(
            "an earlier call with the same {name} has not ended: it may still be running or waiting for an answer, or \
             its process has died, so its outcome is unknown; it was not run again. Check what it has done, or repeat \
             the call later to get its result"
        ))
    }

    /// Returns the error for a repeat of a call that was stopped.
    pub(super) fn stopped(&self) -> HandlerError {
        let name = &self.name;
        HandlerError::exposed(format_args!(
            "an earlier call with the same {name} was stopped before it ended, so its outcome is unknown; it was not \
             run again. Check what it has done before you use another {name}"
        ))
    }

    /// Returns the error for a repeat of a call that succeeded with a result that is too large to be kept.
    pub(super) fn too_large(&self) -> HandlerError {
        let name = &self.name;
        HandlerError::exposed(format_args!(
            "an earlier call with the same {name} has succeeded, so nothing was done; its result was too large to be kept"
        ))
    }

    /// Returns the error for a repeat that does not request the same form of response as the first call.
    pub(super) fn other_form(&self) -> HandlerError {
        let name = &self.name;
        HandlerError::exposed(format_args!(
            "an earlier call with the same {name} was served in a different form, so nothing was done; repeat it in \
             the same protocol version, and as a task if it was one"
        ))
    }
}

/// Returns the caller or session that owns a call's keys, or `None` if it cannot be distinguished from others.
fn owner(context: &Context) -> Option<String> {
    let caller = context.caller();
    if caller.is_identified() {
        return Some(caller.key().to_owned());
    }
    let session = context.request().session_id();
    // No caller's key begins like this.
    session.map(|session| format!("session {session}"))
}

/// Returns the arguments that identify the call: their names for messages, and their names and values as JSON. Returns
/// `None` if all of them are missing or `null`.
fn of_arguments(names: &[&str], given: &ArgumentIdentities) -> Result<Option<(String, String)>> {
    let values = names.iter().filter_map(|name| given.get_key_value(*name));
    let values: ArgumentIdentities = values
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if values.values().all(|value| value.text == "null") {
        return Ok(None);
    }
    if let Some((name, _)) = values.iter().find(|(_, value)| value.text == "\"\"") {
        return Err(HandlerError::exposed(format_args!(
            "`{name}` is empty, but it must identify the call; nothing was done"
        )));
    }
    let key = format!("[\"arguments\",{}]", object(&values)?);
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    Ok(Some((names.join(" and "), key)))
}

/// Returns a JSON object with the arguments, except for those for which the handler is given the same value when they are
/// left out.
fn object(arguments: &ArgumentIdentities) -> Result<String> {
    let mut object = String::from("{");
    let arguments = arguments.iter();
    for (name, value) in arguments.filter(|(_, value)| !value.is_default) {
        if object.len() > 1 {
            object.push(',');
        }
        object.push_str(&serde_json::to_string(name)?);
        object.push(':');
        object.push_str(&value.text);
    }
    object.push('}');
    Ok(object)
}

/// Returns the key that the client has sent.
fn sent_key(context: &Context, max: usize) -> Result<Option<String>> {
    let in_header = header_key(context)?;
    let in_meta = match context.meta().remove(META_KEY) {
        None => None,
        Some(serde_json::Value::String(key)) => Some(key),
        Some(_) => return Err(invalid(&format!("`{META_KEY}` must be a string"))),
    };
    let key = match (in_header, in_meta) {
        (Some(header), Some(meta)) if header != meta => {
            return Err(invalid(&format!(
                "the `Idempotency-Key` header and `{META_KEY}` differ"
            )));
        }
        (header, meta) => header.map(Cow::into_owned).or(meta),
    };
    let Some(key) = key else {
        return Ok(None);
    };
    let is_visible = key.bytes().all(|byte| byte.is_ascii_graphic());
    if key.is_empty() || key.len() > max || !is_visible {
        return Err(invalid(&format!(
            "an idempotency key must be 1 to {max} visible ASCII characters"
        )));
    }
    Ok(Some(key))
}

/// Returns the key in the request's header. In a structured-field string, the key is inside quotation marks.
#[cfg(feature = "http")]
fn header_key(context: &Context) -> Result<Option<Cow<'_, str>>> {
    let Some(headers) = context.request().headers() else {
        return Ok(None);
    };
    let mut values = headers.get_all(HEADER).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(invalid(
            "the `Idempotency-Key` header occurs more than once",
        ));
    }
    let text = String::from_utf8_lossy(value.as_bytes());
    let text = text.trim_ascii();
    let inside = text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'));
    Ok(Some(Cow::Owned(inside.unwrap_or(text).to_owned())))
}

#[cfg(not(feature = "http"))]
#[allow(clippy::unnecessary_wraps, reason = "as with the `http` feature")]
fn header_key(_: &Context) -> Result<Option<Cow<'_, str>>> {
    Ok(None)
}

fn invalid(problem: &str) -> HandlerError {
    HandlerError::protocol(ErrorObject::invalid_params(problem))
}

/// The settings for calls with a key.
pub(crate) struct Idempotency {
    pub(crate) store: Arc<dyn OnceStore>,
    pub(crate) limits: IdempotencyLimits,
    /// The server's name, because several servers can share a store.
    pub(crate) server: String,
}
